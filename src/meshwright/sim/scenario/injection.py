"""Faults carried out on a world."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from meshwright.history.history import read_payload
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.sim.physics.clocks import SkewedClock
from meshwright.sim.scenario.faults import (
    Ambush,
    ClientDisconnect,
    Crash,
    Disconnect,
    DiskFull,
    Fault,
    Join,
    NeverReturns,
    Partition,
    Skew,
    Slow,
    Stuck,
)
from meshwright.sim.world import World


def inject(world: World, faults: Iterable[Fault]) -> None:
    """Put all faults on the world's agenda; skewed clocks are off before brokers start."""
    for fault in faults:
        begin = _BEGIN[type(fault)]
        if isinstance(fault, Partition | Disconnect | Slow | Stuck):
            world.history.has_losses = True
        if isinstance(fault, Skew):
            begin(world, fault)
        else:
            world.at(fault.at_us, partial(begin, world, fault))


def _crash(world: World, fault: Crash) -> None:
    world.hosts[fault.broker].disk.stall(fault.dies_us)
    world.at(fault.dies_us, partial(world.crash, fault.broker))
    world.at(fault.until_us, partial(world.restart, fault.broker))


def _never_returns(world: World, fault: NeverReturns) -> None:
    _lose(world, fault.broker)


def _lose(world: World, broker: str) -> None:
    world.crash(broker)
    world.note(f"{broker} is gone for good")
    world.history.gone_us[broker] = world.agenda.now_us
    _note_gone(world, world.hosts[broker].disk.kept)


def _note_gone(world: World, kept: dict[DiskKey, Any]) -> None:
    """Write down of what a disk that is gone for good had the only copy."""
    for key, value in kept.items():
        if key[0] == "session":
            # A session that was given to another broker may be on the disk of that, too.
            target = kept.get(("given", key[1]))
            if target is None or key not in world.hosts[target].disk.kept:
                world.history.gone_sessions.add(str(key[1]))
        elif key[0] == "shared":
            event = read_payload(value[0].payload)
            if event is not None:
                world.history.gone_shared.add((str(key[1]), event))
        elif key[0] in {"log", "retaining"}:
            event = read_payload(value.payload)
            if event is not None:
                world.history.gone_events.add(event)


def _ambush(world: World, fault: Ambush) -> None:
    """Wait for a moment; who reaches it dies with the step in which it did."""

    def spring(broker: str) -> None:
        now_us = world.agenda.now_us
        if fault.away_us is None:
            world.at(now_us, partial(_lose, world, broker))
        else:
            world.at(now_us, partial(world.crash, broker))
            back_us = max(now_us, min(now_us + fault.away_us, fault.until_us))
            world.at(back_us, partial(world.restart, broker))

    world.ambushes[fault.moment] = spring
    world.at(fault.until_us, partial(_give_up, world, fault.moment))


def _give_up(world: World, moment: str) -> None:
    world.ambushes.pop(moment, None)


def _partition(world: World, fault: Partition) -> None:
    cut_off = set(fault.brokers)
    others = [name for name in world.hosts if name not in cut_off]
    pairs = [(one, other) for one in fault.brokers for other in others]
    world.note(f"{', '.join(fault.brokers)} cannot reach the other brokers")
    for one, other in pairs:
        world.network.block(one, other)
    world.at(fault.until_us, partial(_heal, world, fault, pairs))


def _heal(world: World, fault: Partition, pairs: list[tuple[str, str]]) -> None:
    world.note(f"{', '.join(fault.brokers)} can reach the other brokers again")
    for one, other in pairs:
        world.network.unblock(one, other)


def _disconnect(world: World, fault: Disconnect) -> None:
    world.note(f"the connection of {fault.one} and {fault.other} breaks")
    world.network.disconnect(fault.one, fault.other)


def _client_disconnect(world: World, fault: ClientDisconnect) -> None:
    world.note(f"the connection of {fault.client} breaks")
    world.clients[fault.client].lose_line()


def _slow(world: World, fault: Slow) -> None:
    world.note(f"the wire of {fault.one} and {fault.other} is {fault.extra_us} us slower")
    world.network.slow(fault.one, fault.other, fault.extra_us)
    world.at(fault.until_us, partial(world.network.slow, fault.one, fault.other, -fault.extra_us))


def _stuck(world: World, fault: Stuck) -> None:
    world.note(f"nothing passes between {fault.one} and {fault.other}")
    world.network.block(fault.one, fault.other)
    world.at(fault.until_us, partial(_free, world, fault))


def _free(world: World, fault: Stuck) -> None:
    world.note(f"{fault.one} and {fault.other} can reach each other again")
    world.network.unblock(fault.one, fault.other)


def _skew(world: World, fault: Skew) -> None:
    world.hosts[fault.broker].clock = SkewedClock(fault.offset_us, fault.drift_ppm)


def _disk_full(world: World, fault: DiskFull) -> None:
    world.note(f"the disk of {fault.broker} is full")
    host = world.hosts[fault.broker]
    host.fill_disk()
    world.at(fault.until_us, partial(_disk_has_room, world, fault))


def _disk_has_room(world: World, fault: DiskFull) -> None:
    world.note(f"the disk of {fault.broker} has room again")
    world.hosts[fault.broker].empty_disk()


def _join(world: World, fault: Join) -> None:
    world.restart(fault.broker)
    for client, at_us in fault.visits:
        world.at(at_us, partial(_visit, world, client, fault.broker))


def _visit(world: World, client: str, broker: str) -> None:
    world.clients[client].vanish()
    world.clients[client].connect(broker)


_BEGIN: dict[type[Fault], Callable[[World, Any], None]] = {
    Crash: _crash,
    Ambush: _ambush,
    NeverReturns: _never_returns,
    Partition: _partition,
    Disconnect: _disconnect,
    ClientDisconnect: _client_disconnect,
    Slow: _slow,
    Stuck: _stuck,
    Skew: _skew,
    DiskFull: _disk_full,
    Join: _join,
}
