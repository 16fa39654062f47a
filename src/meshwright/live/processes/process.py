"""The process of one broker: from its settings until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
from collections.abc import Callable

import uvloop

from meshwright.errors import OperatorError
from meshwright.live.peers.joining import Network
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import LiveSettings
from meshwright.live.telemetry.log import Log
from meshwright.model.neighbourhood import Redraw

Announce = Callable[[str], None]


def run_broker(
    settings: LiveSettings, network: Network, announce: Announce, *, redraw: Redraw | None = None
) -> None:
    """Run until SIGINT or SIGTERM; SIGHUP has it read anew who may do what.

    network: what it begins as, and where the others are.
    """
    # Messages, sessions, keys, telemetry and logs are for the eyes of the broker's owner alone.
    os.umask(0o077)
    # Every connection is a file, and most systems begin with leave for a thousand.
    files_max = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(settings, network, announce, redraw))


async def _run(
    settings: LiveSettings, network: Network, announce: Announce, redraw: Redraw | None
) -> None:
    log = Log(settings.name, settings.telemetry.log)
    broker = LiveBroker(
        settings,
        network.overlay,
        founders=network.founders,
        recorded=log.record,
        refused=lambda reason, address: log.event(
            broker.host.clock.now_us(), "peer_refused", address=address, reason=reason
        ),
        redraw=redraw,
    )
    broker.host.peers.brokers |= network.brokers
    addresses = await broker.start()
    found = broker.host.peers.brokers[settings.name]
    clients = ", ".join(map(str, addresses))
    log.event(broker.host.clock.now_us(), "started", clients=clients, peers=found.peers)
    announce(f"{settings.name}: clients at {clients}, peers at {found.peers}")
    if broker.host.view().is_emptying:
        log.event(broker.host.clock.now_us(), "drained")
        announce(
            f"{settings.name}: it was drained and takes no clients; "
            f"meshwright drain {settings.name} --undo --data {settings.folder} lets it again"
        )
    # What stands now stays: the collector need not look at it again.
    gc.freeze()
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    loop.add_signal_handler(signal.SIGHUP, _reload, broker, log)
    ends = [asyncio.ensure_future(asked.wait()), asyncio.ensure_future(broker.wait())]
    try:
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in done:
            end.result()
    finally:
        for end in ends:
            end.cancel()
        await broker.stop()
        log.event(broker.host.clock.now_us(), "stopped")
        log.close()


def _reload(broker: LiveBroker, log: Log) -> None:
    """Go by the files of users and rules as they are now, or say what is wrong with them."""
    now_us = broker.host.clock.now_us()
    try:
        broker.reload()
    except OperatorError as error:
        log.event(now_us, "access_kept", reason=str(error))
    else:
        log.event(now_us, "access_reloaded")
