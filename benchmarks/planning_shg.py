"""SHG against Scribe over n = 6..10: BT(e) and BT(p), both readings of event routing.

The paper quotes no number, so there is nothing to meet: below 1 the hypercube sends less. Patterns,
events and shares are the paper's; the publisher is any broker, in closed form. [SHG, 2.3]
"""

from __future__ import annotations

import numpy as np

from benchmarks.table import Row, timed
from meshwright.model.identifiers import BrokerName, TopicName, topic_key
from meshwright.model.interests import Interests, interests_from_pairs
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.hypercube import hypercube
from meshwright.overlays.key_geometries import key_geometry, owners
from meshwright.planning.arrangement.problem import hash_positions
from meshwright.planning.evaluation.partition import EventReading, partition
from meshwright.planning.evaluation.rendezvous import rendezvous
from meshwright.planning.evaluation.traffic_ratios import (
    TrafficRatios,
    event_snapshot,
    traffic_ratios,
)

DIMENSION_COUNTS = range(6, 11)
PATTERN_COUNT = 100
EVENT_COUNT = 3000
SUBSCRIBE_SHARE = 0.0065
# An event that a node receives with probability 0.15 matches this many patterns.
MATCHES_PER_EVENT = 25
SEED_COUNT = 3
READINGS: tuple[EventReading, ...] = ("selective", "broadcast")


def rows() -> list[Row]:
    found = []
    for dimension_count in DIMENSION_COUNTS:
        for reading in READINGS:
            for digit_bits in (4, 1):
                seconds, ratios = timed(
                    lambda n=dimension_count, r=reading, b=digit_bits: [
                        measure(n, r, 2**b, seed) for seed in range(SEED_COUNT)
                    ],
                    repeat=1,
                )
                found.append(_row(dimension_count, reading, digit_bits, ratios, seconds))
    return found


def measure(dimension_count: int, reading: EventReading, base: int, seed: int) -> TrafficRatios:
    """The two ratios of one drawn workload."""
    patterns, matches = draw(dimension_count, np.random.default_rng(seed))
    broker_count = len(patterns.brokers)
    positions = hash_positions(patterns.brokers)
    cube = hypercube(broker_count, low_bit_count=dimension_count // 2)
    ring = key_geometry("pastry", broker_count, base=base)
    keys = np.array([topic_key(name) for name in patterns.topics], dtype=np.int64)
    return traffic_ratios(
        rendezvous(ring, positions, owners(ring, keys), patterns),
        partition(cube, positions, patterns, reading),
        partition(cube, positions, event_snapshot(patterns, matches), reading),
        matches,
    )


def draw(dimension_count: int, rng: np.random.Generator) -> tuple[Snapshot, Interests]:
    """Who subscribes to which pattern, and which patterns each event matches."""
    broker_count = 1 << dimension_count
    brokers, wanted = np.nonzero(rng.random((broker_count, PATTERN_COUNT)) < SUBSCRIBE_SHARE)
    matched = rng.random((EVENT_COUNT, PATTERN_COUNT)).argsort(axis=1)[:, :MATCHES_PER_EVENT]
    events = np.repeat(np.arange(EVENT_COUNT), MATCHES_PER_EVENT)
    patterns = Snapshot(
        brokers=tuple(BrokerName(f"b{index}") for index in range(broker_count)),
        topics=tuple(TopicName(f"pattern {index}") for index in range(PATTERN_COUNT)),
        interests=interests_from_pairs(brokers, wanted, broker_count, PATTERN_COUNT),
        publications=np.ones(PATTERN_COUNT, dtype=np.float64),
    )
    return patterns, interests_from_pairs(events, matched.ravel(), EVENT_COUNT, PATTERN_COUNT)


def _row(
    dimension_count: int,
    reading: EventReading,
    digit_bits: int,
    ratios: list[TrafficRatios],
    seconds: float,
) -> Row:
    events = np.mean([ratio.events for ratio in ratios])
    subscriptions = np.mean([ratio.subscriptions for ratio in ratios])
    return Row(
        task=f"SHG / Scribe, n = {dimension_count}, b = {digit_bits}, {reading} events",
        measured=f"BT(e) {events:.3f}, BT(p) {subscriptions:.3f}",
        target="report",
        paper="no number quoted",
        note=f"{len(ratios)} seeds, {seconds:.1f} s",
    )
