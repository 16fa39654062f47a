"""Fifty changes of overlay and back under traffic leave memory and disks as they were."""

from __future__ import annotations

import gc
from functools import partial
from types import FunctionType, ModuleType
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from meshwright.history.duplicated import duplicated
from meshwright.history.lost import lost
from meshwright.history.reordered import reordered
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.times import SECOND_US
from meshwright.planning.designs import build_overlay
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.scenario.plans import drawn_plan
from meshwright.sim.world import World

BROKERS = 6
CHANGES = 25  # there, and as many back
EVERY_US = 2 * SECOND_US
BEGIN_US = 5 * SECOND_US
QUIET_US = 120 * SECOND_US
PUBLICATIONS_A_CHANGE = 12
# Less than one object a change; what is cached is not the same at any two moments.
CACHED = 0.02
NOT_COUNTED = (type, ModuleType, FunctionType, int, float, str, bytes)


class Held(NamedTuple):
    """What a broker holds: objects in memory, and keys on disk."""

    objects: int
    kept: frozenset[DiskKey]


@pytest.mark.parametrize("design", ["chord", "gm2", "tree", "hypercube"])
def test_fifty_changes_leave_memory_and_disk_where_they_were(design: str) -> None:
    snapshot = generate_snapshot(BROKERS, 8, 4, "unif", seed=1)
    rng = np.random.default_rng(1)
    overlay = build_overlay(design, snapshot, rng=rng)
    plan = drawn_plan(overlay, snapshot, rng, k=None)
    world = World(overlay, lambda name: build_broker(name, overlay), NetworkSettings(), streams(1))
    lasting = ClientSettings(session_expiry_s=9999)
    clients = [world.add_client(f"c{number}", lasting) for number in range(BROKERS)]
    for number, client in enumerate(clients):
        world.at(SECOND_US, partial(client.connect, overlay.brokers[number]))
        for topic in snapshot.interests.of(number).tolist():
            world.at(2 * SECOND_US, partial(client.subscribe, snapshot.topics[topic], 1))
    world.start()
    sizes = []
    begin_us = BEGIN_US
    for pairs in (BROKERS // 2, CHANGES):  # first everybody leads a change
        for change in range(2 * pairs):
            at_us = begin_us + change * EVERY_US
            given = PlanGiven("undo" if change % 2 else "apply", plan)
            leader = overlay.brokers[change % BROKERS]
            world.at(at_us, partial(world.tell, leader, given))
            for number in range(PUBLICATIONS_A_CHANGE):  # everybody publishes everything in time
                which = change * PUBLICATIONS_A_CHANGE + number
                topic = snapshot.topics[which // BROKERS % len(snapshot.topics)]
                publish = partial(clients[which % BROKERS].publish, topic, 1)
                world.at(at_us + number * EVERY_US // PUBLICATIONS_A_CHANGE, publish)
        begin_us += 2 * pairs * EVERY_US + QUIET_US
        world.run_until(begin_us)
        sizes.append(
            {
                name: Held(object_count(host.machine), frozenset(host.disk.kept))
                for name, host in world.hosts.items()
            }
        )
        for host in world.hosts.values():
            assert msgspec.json.encode(host.disk.kept["overlay",][1]) == msgspec.json.encode(
                overlay
            )
    for before, after in zip(sizes[0].values(), sizes[1].values(), strict=True):
        assert after.kept == before.kept
        assert after.objects < before.objects * (1 + CACHED)
    history = world.history
    assert not [*lost(history), *duplicated(history), *reordered(history)]
    assert len(history.deliveries) > 200


def object_count(root: object) -> int:
    """Objects that are reached from this one, but for code and plain values."""
    seen = {id(root)}
    waiting = [root]
    while waiting:
        for one in gc.get_referents(waiting.pop()):
            if id(one) not in seen and not isinstance(one, NOT_COUNTED):
                seen.add(id(one))
                waiting.append(one)
    return len(seen)
