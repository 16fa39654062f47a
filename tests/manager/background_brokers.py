"""Live brokers in a thread of their own, so that what manages them may wait as it does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from live_network import newcomer, port_of, running_brokers

from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import TelemetrySettings
from meshwright.model.overlay import Overlay

TRACE_EVERY_S = 1.0


class Brokers:
    """Brokers that run, by name, with the addresses of their clients."""

    def __init__(
        self, folder: Path, brokers: list[LiveBroker], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.folder = folder
        self._loop = loop
        # All of them are stopped in the end.
        self._running = brokers
        self.live = {broker.settings.name: broker for broker in brokers}
        self.addresses = {name: f"127.0.0.1:{port_of(one)}" for name, one in self.live.items()}

    def stop(self, name: str) -> None:
        """One goes, and for a while no other notices."""
        asyncio.run_coroutine_threadsafe(self.live[name].stop(), self._loop).result(30)

    def join(self, name: str) -> None:
        """A broker comes to the network, and is let in."""

        async def come() -> LiveBroker:
            first = self._running[0]
            telemetry = first.settings.telemetry
            broker = await newcomer(name, self.folder, first, telemetry=telemetry)
            self._running.append(broker)
            await broker.start()
            return broker

        broker = asyncio.run_coroutine_threadsafe(come(), self._loop).result(60)
        self.live[name] = broker
        self.addresses[name] = f"127.0.0.1:{port_of(broker)}"


def on_their_own_loop(story: Coroutine[Any, Any, None]) -> None:
    """As processes of brokers run it.

    asyncio's own loop leaves a connection open that comes just as a server closes (CPython's issue
    109564), and a manager asks at any moment.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story)


@contextmanager
def background_brokers(
    design: str, folder: Path, count: int = 3, **options: Any
) -> Iterator[Brokers]:
    """Brokers that record telemetry, until the block is left; options: more of their settings."""
    ready: Future[Brokers] = Future()
    is_over = threading.Event()
    telemetry = TelemetrySettings(
        trace=folder / "telemetry", trace_every_s=TRACE_EVERY_S, sys_every_s=0
    )

    async def run() -> None:
        try:
            async with running_brokers(
                design, folder, count, telemetry=telemetry, **options
            ) as brokers:
                ready.set_result(Brokers(folder, brokers, asyncio.get_running_loop()))
                await asyncio.to_thread(is_over.wait)
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    with ThreadPoolExecutor(1, thread_name_prefix="brokers") as threads:
        running = threads.submit(on_their_own_loop, run())
        try:
            yield ready.result(30)
        finally:
            is_over.set()
            running.result(30)


def swapped(overlay: Overlay) -> Overlay:
    """Two brokers on a ring have changed places."""
    assert overlay.positions is not None
    one, other = overlay.brokers[:2]
    places = overlay.positions
    return msgspec.structs.replace(
        overlay, positions={**places, one: places[other], other: places[one]}
    )
