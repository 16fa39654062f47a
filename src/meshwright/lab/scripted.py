"""Real clients that do what a script says, and the history of all that they saw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from meshwright.history.history import History, Subscribed
from meshwright.history.lost import lost
from meshwright.lab.witness import Stopwatch, Witness

QOS = 1
# Connections that are opened at once: more only wait for each other.
OPENED_AT_ONCE = 16
ANSWER_MAX_S = 60.0
SETTLE_MAX_S = 20.0
LOOK_EVERY_S = 0.25

Progress = Callable[[tuple[int, int]], None]


class Deed(NamedTuple):
    """What a client does, so many seconds after the beginning."""

    at_s: float
    client: str
    kind: Literal["want", "unwant", "publish"]
    topic: str


@dataclass(frozen=True, slots=True)
class Script:
    """Where clients begin, by name, and all that they do, in order.

    What is to be done at the very beginning is answered before the time begins to run.
    """

    homes: Mapping[str, str]
    deeds: tuple[Deed, ...]


def play(script: Script, brokers: Mapping[str, str], progress: Progress) -> History:
    """Have real clients do it, at brokers whose addresses are given by name.

    progress is told how many of all deeds are begun. Returns when everything was answered and
    everything owed has come, or nothing more is to be hoped for.
    """
    crowd = _Crowd(script, brokers, progress)
    asyncio.run(crowd.play())
    return crowd.history


class _Crowd:
    def __init__(self, script: Script, brokers: Mapping[str, str], progress: Progress) -> None:
        self.history = History()
        self._script = script
        self._progress = progress
        names = {address: name for name, address in brokers.items()}
        stopwatch = Stopwatch()
        self._clients = {
            client: Witness(client, names, brokers[home], history=self.history, stopwatch=stopwatch)
            for client, home in script.homes.items()
        }
        # The last change of what a client wants of a topic: each waits for the one before.
        self._changes: dict[tuple[str, str], asyncio.Task[Subscribed]] = {}
        self._in_flight: set[asyncio.Task[Any]] = set()

    async def play(self) -> None:
        """Come, do everything, wait for the rest, leave."""
        room = asyncio.Semaphore(OPENED_AT_ONCE)

        async def come(client: Witness) -> None:
            async with room:
                await opened.enter_async_context(client)

        async with AsyncExitStack() as opened:
            await asyncio.gather(*map(come, self._clients.values()))
            await self._do_all()
            await self._settle()
            for task in self._in_flight:
                task.cancel()

    async def _do_all(self) -> None:
        deeds = self._script.deeds
        loop = asyncio.get_running_loop()
        began_s: float | None = None
        for number, deed in enumerate(deeds):
            if deed.at_s > 0 and began_s is None:
                await self._answered()
                began_s = loop.time()
            if began_s is not None:
                await asyncio.sleep(began_s + deed.at_s - loop.time())
            self._do(deed)
            self._progress((number + 1, len(deeds)))
        await self._answered()

    def _do(self, deed: Deed) -> None:
        client = self._clients[deed.client]
        if deed.kind == "publish":
            self._begin(client.publish(deed.topic, QOS))
        else:
            key = (deed.client, deed.topic)
            self._changes[key] = self._begin(self._change(client, deed, self._changes.get(key)))

    async def _change(
        self, client: Witness, deed: Deed, before: asyncio.Task[Subscribed] | None
    ) -> Subscribed:
        former = None if before is None else await before
        if deed.kind == "want" or former is None:
            return await client.subscribe(deed.topic, QOS)
        await client.unsubscribe(former)
        return former

    def _begin(self, doing: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(doing)
        self._in_flight.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        # What failed is kept, to be raised where it is waited for.
        if not task.cancelled() and task.exception() is None:
            self._in_flight.discard(task)

    async def _answered(self) -> None:
        """Until all that was asked for is answered, or patience ends; raises what went wrong."""
        if self._in_flight:
            done, _ = await asyncio.wait(self._in_flight, timeout=ANSWER_MAX_S)
            for task in done:
                task.result()

    async def _settle(self) -> None:
        """Wait until all that is owed has come, and as long as more comes."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + SETTLE_MAX_S
        seen = -1
        while loop.time() < deadline_s:
            count = len(self.history.deliveries)
            if count == seen and not lost(self.history):
                return
            seen = count
            await asyncio.sleep(LOOK_EVERY_S)
