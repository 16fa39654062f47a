"""Real clients that do what a script says, and the history of all that they saw."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
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
# Clients that are later than this make up for nothing.
LATE_MAX_S = 0.25


class Deed(NamedTuple):
    """What a client does, so many seconds after the beginning."""

    at_s: float
    client: str
    kind: Literal["want", "unwant", "publish"]
    topic: str


@dataclass(frozen=True, slots=True)
class Script:
    """Where clients begin, by name, and all that they do, in order, in so many seconds.

    What is to be done at the very beginning is answered before the time begins to run.
    """

    homes: Mapping[str, str]
    deeds: tuple[Deed, ...]
    length_s: float

    def again(self) -> tuple[Deed, ...]:
        """The deeds for once more: first everybody wants again what was wanted at the beginning."""
        begun: dict[tuple[str, str], None] = {}
        wanted: dict[tuple[str, str], None] = {}
        for deed in self.deeds:
            if deed.kind == "want":
                wanted[deed.client, deed.topic] = None
            elif deed.kind == "unwant":
                wanted.pop((deed.client, deed.topic), None)
            if deed.at_s <= 0:
                begun = dict(wanted)
        return (
            *(Deed(0.0, key[0], "unwant", key[1]) for key in wanted if key not in begun),
            *(Deed(0.0, key[0], "want", key[1]) for key in begun if key not in wanted),
            *(deed for deed in self.deeds if deed.at_s > 0),
        )


class Pace:
    """When deeds are due, of a play that began at a time.

    A machine that is busy holds clients up. They go on at their pace then: if they made up for it,
    they would publish several times as much a second, and no two times would compare.
    """

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s

    def wait_s(self, at_s: float, now_s: float) -> float:
        """How long to wait, at a time, for a deed that is so late in the script."""
        wait_s = self._began_s + at_s - now_s
        if wait_s < -LATE_MAX_S:
            self._began_s = now_s - at_s
        return max(0.0, wait_s)


@contextmanager
def playing(script: Script, brokers: Mapping[str, str]) -> Iterator[Play]:
    """Real clients do what the script says, over and over, at brokers by name and address.

    They work in a thread of their own, until the play is ended or the block is left.
    """
    crowd = _Crowd(script, brokers)
    with ThreadPoolExecutor(1, thread_name_prefix="clients") as threads:
        play = Play(crowd, threads.submit(lambda: asyncio.run(crowd.play())))
        try:
            yield play
        finally:
            crowd.is_over.set()


class Play:
    """Clients at work."""

    def __init__(self, crowd: _Crowd, work: Future[None]) -> None:
        self._crowd = crowd
        self._work = work

    def wait_begun(self) -> None:
        """Until all clients are there, and what they want at the beginning is granted."""
        while not self._crowd.has_begun.wait(LOOK_EVERY_S):
            if self._work.done():
                self._work.result()

    def now_us(self) -> int:
        """The time of the history."""
        return self._crowd.stopwatch.now_us()

    def seen(self) -> History:
        """What clients saw so far; raises what went wrong."""
        if self._work.done():
            self._work.result()
        history = self._crowd.history
        # Each copy is made in one go, while clients go on in their thread.
        return replace(
            history,
            publications=dict(history.publications),
            deliveries=list(history.deliveries),
            subscriptions=list(history.subscriptions),
            connections={name: list(own) for name, own in dict(history.connections).items()},
        )

    def end(self) -> History:
        """Let them finish: returns when everything was answered and everything owed has come.

        Or when nothing more is to be hoped for.
        """
        self._crowd.is_over.set()
        self._work.result()
        return self._crowd.history


class _Crowd:
    def __init__(self, script: Script, brokers: Mapping[str, str]) -> None:
        self.history = History()
        self.stopwatch = Stopwatch()
        self.has_begun = threading.Event()
        self.is_over = threading.Event()
        self._script = script
        names = {address: name for name, address in brokers.items()}
        self._clients = {
            client: Witness(
                client, names, brokers[home], history=self.history, stopwatch=self.stopwatch
            )
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
        loop = asyncio.get_running_loop()
        pace: Pace | None = None
        for at_s, deed in self._endless():
            if at_s > 0 and pace is None:
                await self._answered()
                pace = Pace(loop.time())
                self.has_begun.set()
            if pace is not None:
                await asyncio.sleep(pace.wait_s(at_s, loop.time()))
            if self.is_over.is_set():
                break
            self._do(deed)
        await self._answered()

    def _endless(self) -> Iterator[tuple[float, Deed]]:
        """All deeds, then all for once more, and so on, each with its time from the beginning."""
        again = self._script.again()
        for time in count():
            for deed in again if time else self._script.deeds:
                yield time * self._script.length_s + deed.at_s, deed

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
