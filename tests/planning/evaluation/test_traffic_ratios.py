"""SHG against Scribe: closed ratios against messages that are really sent."""

from __future__ import annotations

import numpy as np
import pytest
from dull_messages import DullPartition, DullRendezvous, Twin
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshots import snapshots

from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.hypercube import Readings, hypercube
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.planning.evaluation.partition import partition
from meshwright.planning.evaluation.rendezvous import rendezvous
from meshwright.planning.evaluation.traffic_ratios import event_snapshot, traffic_ratios

few = settings(max_examples=40)


def joined_one_by_one(twin: Twin, members: list[set[int]], seed: int) -> int:
    """Messages when the members of each topic subscribe in a random order."""
    rng = np.random.default_rng(seed)
    messages = 0
    for topic, wanted in enumerate([set(of_topic) for of_topic in members]):
        members[topic].clear()
        for member in rng.permutation(sorted(wanted)).tolist():
            messages += twin.subscription(topic, int(member))
            members[topic].add(int(member))
    return messages


@given(snapshots(), st.sampled_from(sorted(KEY_GEOMETRIES)), st.integers(0, 2**16))
@few
def test_all_subscriptions_on_a_key_geometry_cost_the_same_in_any_order(
    snapshot: Snapshot, name: str, seed: int
) -> None:
    broker_count = len(snapshot.brokers)
    geometry = key_geometry(name, broker_count)
    positions = np.arange(broker_count, dtype=np.int32)
    roots = np.arange(len(snapshot.topics), dtype=np.int32) % broker_count
    twin = DullRendezvous(geometry, positions, roots, snapshot)
    forwarding = rendezvous(geometry, positions, roots, snapshot)
    assert forwarding.all_subscriptions() == joined_one_by_one(twin, twin.members, seed)


@given(
    snapshots(broker_count_max=20),
    st.integers(0, 2**16),
    st.sampled_from([Readings(), Readings(subscriptions="sub_partition")]),
)
@few
def test_all_subscriptions_on_a_hypercube_cost_the_same_in_any_order(
    snapshot: Snapshot, seed: int, readings: Readings
) -> None:
    cube = hypercube(len(snapshot.brokers))
    positions = np.arange(len(snapshot.brokers), dtype=np.int32)
    twin = DullPartition(
        cube.dimension_count, cube.low_bit_count, positions, snapshot, readings=readings
    )
    forwarding = partition(cube, positions, snapshot, readings)
    assert forwarding.all_subscriptions() == joined_one_by_one(twin, twin.members, seed)


def test_an_event_goes_once_to_all_who_want_it_but_through_the_tree_of_each_pattern() -> None:
    patterns = Snapshot(
        brokers=tuple(BrokerName(f"b{index}") for index in range(8)),
        topics=tuple(TopicName(f"p{index}") for index in range(3)),
        interests=interests_from_sets([{0}, {0, 1}, {2}, set(), {1}, {0, 2}, set(), {2}], 3),
        publications=np.ones(3),
    )
    matches = interests_from_sets([{0, 1}, {2}, {0, 1, 2}], 3)
    events = event_snapshot(patterns, matches)
    assert events.interests.dense().T.astype(int).tolist() == [
        [1, 1, 0, 0, 1, 1, 0, 0],
        [0, 0, 1, 0, 0, 1, 0, 1],
        [1, 1, 1, 0, 1, 1, 0, 1],
    ]
    ring, cube = key_geometry("pastry", 8, base=2, leaf_count=2), hypercube(8)
    positions, roots = np.arange(8, dtype=np.int32), np.array([3, 5, 6], dtype=np.int32)
    trees = DullRendezvous(ring, positions, roots, patterns)
    sent = DullPartition(3, cube.low_bit_count, positions, events, readings=Readings())
    tree_messages = sum(
        len(trees.publication(pattern, publisher).messages)
        for event in range(3)
        for pattern in matches.of(event).tolist()
        for publisher in range(8)
    )
    cube_messages = sum(
        len(sent.publication(event, publisher).messages)
        for event in range(3)
        for publisher in range(8)
    )
    ratios = traffic_ratios(
        rendezvous(ring, positions, roots, patterns),
        partition(cube, positions, patterns),
        partition(cube, positions, events),
        matches,
    )
    assert ratios.events == pytest.approx(cube_messages / tree_messages)
