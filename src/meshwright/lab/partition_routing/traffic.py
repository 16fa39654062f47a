"""BT(e) and BT(p): messages of SHG over those of Scribe, in closed form and message by message.

Brokers subscribe to patterns at random, an event matches some of the patterns at random. On Scribe
a pattern is a topic, and an event is published once to every pattern that it matches. [SHG, 2.3]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.model.identifiers import BrokerName, TopicName, topic_key
from meshwright.model.interests import Interests, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.hypercube import hypercube, readings_of
from meshwright.overlays.key_geometries import key_geometry, owners
from meshwright.planning.arrangement.problem import hash_positions
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.partition import partition
from meshwright.planning.evaluation.rendezvous import rendezvous
from meshwright.planning.evaluation.traffic_ratios import event_snapshot, traffic_ratios
from meshwright.sim.checkers.closed_form import publications_due, subscriptions_due
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.world import World

PATTERN_COUNT = 100
EVENT_COUNT = 30 * PATTERN_COUNT
SUBSCRIBE_SHARE = 0.0065
# An event that a node receives with a probability of 15 % matches this many patterns.
MATCHES_PER_EVENT = 25
# Of events and of the subscription table.
USUAL_READING = "selective+path"

SECOND_US = 1_000_000


def draw(
    rng: np.random.Generator, broker_count: int, event_count: int, *, patterns: int, matches: int
) -> tuple[Snapshot, Interests]:
    """Who subscribes to which pattern, and which patterns each event matches."""
    brokers, wanted = np.nonzero(rng.random((broker_count, patterns)) < SUBSCRIBE_SHARE)
    matched = rng.random((event_count, patterns)).argsort(axis=1)[:, :matches]
    events = np.repeat(np.arange(event_count), matches)
    snapshot = Snapshot(
        brokers=tuple(BrokerName(f"b{index}") for index in range(broker_count)),
        topics=tuple(TopicName(f"pattern{index}") for index in range(patterns)),
        interests=interests_from_pairs(brokers, wanted, broker_count, patterns),
        publications=np.ones(patterns, dtype=np.float64),
    )
    return snapshot, interests_from_pairs(events, matched.ravel(), event_count, patterns)


def measure_ratios(
    *,
    seed: int,
    dimensions: int,
    digit_bits: int,
    reading: str = USUAL_READING,
    low_bits: int | None = None,
    event_count: int = EVENT_COUNT,
    patterns: int = PATTERN_COUNT,
    matches: int = MATCHES_PER_EVENT,
) -> dict[str, Any]:
    """Both ratios in closed form, over all publishers; low_bits: k, half of n unless given."""
    rng = np.random.default_rng(seed)
    wanted, matched = draw(rng, 1 << dimensions, event_count, patterns=patterns, matches=matches)
    positions = hash_positions(wanted.brokers)
    cube = hypercube(len(wanted.brokers), low_bit_count=low_bits)
    ring = key_geometry("pastry", len(wanted.brokers), base=2**digit_bits)
    keys = np.array([topic_key(name) for name in wanted.topics], dtype=np.int64)
    readings = readings_of(_params(reading))
    found = traffic_ratios(
        rendezvous(ring, positions, owners(ring, keys), wanted),
        partition(cube, positions, wanted, readings),
        partition(cube, positions, event_snapshot(wanted, matched), readings),
        matched,
    )
    return {
        "nodes": 1 << dimensions,
        "bt_events": found.events,
        "bt_subscriptions": found.subscriptions,
    }


def measure_simulated(
    *,
    seed: int,
    dimensions: int,
    digit_bits: int,
    event_count: int,
    reading: str = USUAL_READING,
    patterns: int = PATTERN_COUNT,
    matches: int = MATCHES_PER_EVENT,
) -> dict[str, Any]:
    """The same by real brokers in a simulated network, with what the closed form says is due."""
    rng = np.random.default_rng(seed)
    wanted, matched = draw(rng, 1 << dimensions, event_count, patterns=patterns, matches=matches)
    origins = rng.integers(len(wanted.brokers), size=event_count).tolist()
    of_events = event_snapshot(wanted, matched)
    params = _params(reading)
    cube, cube_of_events = (
        build_overlay("hypercube", one, rng=rng, **params) for one in (wanted, of_events)
    )
    ring = build_overlay("pastry", wanted, rng=rng, base=2**digit_bits)
    to_patterns = [
        (pattern, origins[event])
        for event in range(event_count)
        for pattern in matched.of(event).tolist()
    ]
    cube_subscriptions, _ = _counted(cube, wanted, [], seed)
    _, cube_events = _counted(cube_of_events, of_events, list(enumerate(origins)), seed)
    ring_subscriptions, ring_events = _counted(ring, wanted, to_patterns, seed)
    pairs = _pairs(wanted)
    return {
        "nodes": 1 << dimensions,
        "bt_events": cube_events / ring_events,
        "bt_events_due": publications_due(cube_of_events, of_events, list(enumerate(origins)))
        / publications_due(ring, wanted, to_patterns),
        "bt_subscriptions": cube_subscriptions / ring_subscriptions,
        "bt_subscriptions_due": subscriptions_due(cube, wanted, pairs)
        / subscriptions_due(ring, wanted, pairs),
    }


def _params(reading: str) -> dict[str, Any]:
    events, _, subscriptions = reading.partition("+")
    return {"events": events, "subscriptions": subscriptions}


def _pairs(snapshot: Snapshot) -> list[tuple[int, int]]:
    interests = snapshot.interests
    return list(zip(interests.columns.tolist(), interests.row_of_pairs().tolist(), strict=True))


def _counted(
    overlay: Overlay, snapshot: Snapshot, published: list[tuple[int, int]], seed: int
) -> tuple[int, int]:
    """Messages of subscribing one after the other, and of publications after that."""
    world = World(
        overlay, lambda name: build_broker(name, overlay), NetworkSettings(), streams(seed)
    )
    world.start()
    clients = [world.add_client(f"c{name}", ClientSettings()) for name in snapshot.brokers]
    for client, broker in zip(clients, snapshot.brokers, strict=True):
        client.connect(broker)
    world.run_until(4 * SECOND_US)
    for topic, broker_index in _pairs(snapshot):
        clients[broker_index].subscribe(snapshot.topics[topic], 1)
        world.run_until(world.agenda.now_us + SECOND_US // 5)
    world.run_until(world.agenda.now_us + 10 * SECOND_US)
    subscribed = world.counts_by_class().get("subscription", 0)
    for topic, broker_index in published:
        clients[broker_index].publish(snapshot.topics[topic], 1)
        world.run_until(world.agenda.now_us + SECOND_US // 10)
    world.run_until(world.agenda.now_us + 10 * SECOND_US)
    return subscribed, world.counts_by_class().get("publication", 0)
