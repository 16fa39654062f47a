"""A change of overlay under traffic: by epochs, and as the paper does it, blocking [DYNATOPS].

Both changes run in the same simulation: by epochs there and back, then the same plan blocking.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from meshwright.history.duplicated import duplicated
from meshwright.history.lost import lost
from meshwright.history.reordered import reordered
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.arrangement.reconfiguration import reconfiguration_cost
from meshwright.planning.designs import build_overlay
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.protocol.reconfiguration.blocking import Blocked
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.scenario.plans import drawn_plan
from meshwright.sim.world import World

SECOND_US = 1_000_000
TRAFFIC_US = 4 * SECOND_US
# Each change, and the quiet before it, has this long.
SPAN_US = 4 * SECOND_US


class Span(NamedTuple):
    """What was seen between two moments: messages of the switch, and the slowest answer."""

    messages: int
    answer_us_max: int


def measure_switch(
    *,
    seed: int,
    broker_count: int,
    swap_count: int,
    topics_per_broker: int = 5,
    publications_per_s: int = 100,
    geometry: str = "chord",
) -> list[dict[str, Any]]:
    """Messages of a switch, and for how long a publisher waits, by each protocol."""
    snapshot = generate_snapshot(
        broker_count, 2 * broker_count, topics_per_broker, "unif", seed=seed
    )
    rng, traffic_rng = np.random.default_rng(seed).spawn(2)
    overlay = build_overlay(geometry, snapshot, rng=rng)
    plan = drawn_plan(overlay, snapshot, rng, k=None, swap_count=swap_count)
    world = _world(snapshot, plan, publications_per_s, seed, traffic_rng)
    still, by_epochs, _, blocking = (_span(world, number) for number in range(4))
    world.run_until(world.agenda.now_us + SPAN_US)
    assert world.hosts[snapshot.brokers[0]].disk.kept["overlay",][1] == plan.target
    held_us = [one.blocked_us for _, _, one in world.records.all if isinstance(one, Blocked)]
    history = world.history
    facts = {
        "moved": _moved(plan),
        "bound": reconfiguration_cost(_moved(plan), broker_count, len(snapshot.topics)),
        "answer_ms_still": still.answer_us_max / 1000,
        "violations": len([*lost(history), *duplicated(history), *reordered(history)]),
    }
    return [
        {
            "protocol": name,
            "messages": span.messages,
            "answer_ms": span.answer_us_max / 1000,
            "blocked_ms": blocked_us / 1000,
            **facts,
        }
        for name, span, blocked_us in (
            ("by epochs", by_epochs, 0),
            ("blocking", blocking, max(held_us)),
        )
    ]


def _moved(plan: Plan) -> int:
    before, after = plan.source.positions or {}, plan.target.positions or {}
    return sum(before[name] != after[name] for name in before)


def _world(
    snapshot: Snapshot, plan: Plan, publications_per_s: int, seed: int, rng: np.random.Generator
) -> World:
    """A network under traffic whose overlay is changed there, back, and there blocking."""
    overlay = plan.source
    world = World(
        overlay, lambda name: build_broker(name, overlay), NetworkSettings(), streams(seed)
    )
    for number, broker in enumerate(snapshot.brokers):
        client = world.add_client(f"c{number}", ClientSettings(session_expiry_s=3600))
        world.at(SECOND_US, partial(client.connect, broker))
        for topic in snapshot.interests.of(number).tolist():
            world.at(2 * SECOND_US, partial(client.subscribe, snapshot.topics[topic], 1))
    clients = list(world.clients.values())
    for number in range(publications_per_s * 4 * SPAN_US // SECOND_US):
        client = clients[int(rng.integers(len(clients)))]
        topic_name = snapshot.topics[int(rng.integers(len(snapshot.topics)))]
        at_us = TRAFFIC_US + number * SECOND_US // publications_per_s
        world.at(at_us, partial(client.publish, topic_name, 1))
    for number, action in enumerate(("apply", "undo", "apply-blocking"), start=1):
        at_us = TRAFFIC_US + number * SPAN_US + SECOND_US
        given = PlanGiven(action, plan)
        world.at(at_us, partial(world.tell, snapshot.brokers[0], given))
    world.start()
    world.run_until(TRAFFIC_US)
    return world


def _span(world: World, number: int) -> Span:
    before = world.counts_by_class().get("reconfiguration", 0)
    start_us, end_us = TRAFFIC_US + number * SPAN_US, TRAFFIC_US + (number + 1) * SPAN_US
    world.run_until(end_us)
    after = world.counts_by_class().get("reconfiguration", 0)
    waits_us = [
        one.acknowledged_us - one.attempted_us
        for one in world.history.publications.values()
        if one.acknowledged_us is not None and start_us <= one.attempted_us < end_us
    ]
    return Span(after - before, max(waits_us))
