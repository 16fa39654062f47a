"""Closed forms against messages that are really sent, for every way of forwarding."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
from counting import check_carrier, check_counts
from dull_messages import (
    DullAcyclic,
    DullPartition,
    DullRendezvous,
    DullTopicConnected,
    members_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshots import snapshots

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.graph import graph
from meshwright.overlays.hypercube import Readings, dimensions_for, hypercube
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.overlays.tree import tree
from meshwright.planning.evaluation.acyclic import acyclic
from meshwright.planning.evaluation.partition import partition
from meshwright.planning.evaluation.rendezvous import rendezvous
from meshwright.planning.evaluation.topic_connected import topic_connected
from meshwright.planning.evaluation.topic_trees import tree_carrier

few = settings(max_examples=60)


@given(snapshots(), st.sampled_from(sorted(KEY_GEOMETRIES)), st.integers(0, 2**16))
@few
def test_rendezvous_counts_are_those_of_the_messages_sent(
    snapshot: Snapshot, name: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    broker_count = len(snapshot.brokers)
    geometry = key_geometry(name, broker_count)
    positions = rng.permutation(broker_count).astype(np.int32)
    roots = rng.integers(0, broker_count, size=len(snapshot.topics)).astype(np.int32)
    forwarding = rendezvous(geometry, positions, roots, snapshot)
    check_counts(forwarding, DullRendezvous(geometry, positions, roots, snapshot), snapshot)
    check_carrier(tree_carrier(geometry, positions, roots, snapshot), forwarding, snapshot)


@given(
    snapshots(broker_count_max=20),
    st.integers(0, 2**16),
    st.builds(
        Readings,
        events=st.sampled_from(["selective", "broadcast"]),
        subscriptions=st.sampled_from(["path", "sub_partition"]),
    ),
)
@few
def test_partition_counts_are_those_of_the_messages_sent(
    snapshot: Snapshot, seed: int, readings: Readings
) -> None:
    rng = np.random.default_rng(seed)
    broker_count = len(snapshot.brokers)
    low_bit_count = int(rng.integers(1, max(2, dimensions_for(broker_count))))
    cube = hypercube(broker_count, low_bit_count=low_bit_count)
    positions = rng.permutation(broker_count).astype(np.int32)
    twin = DullPartition(
        cube.dimension_count, low_bit_count, positions, snapshot, readings=readings
    )
    check_counts(partition(cube, positions, snapshot, readings), twin, snapshot)


@given(snapshots(), st.integers(0, 2**16))
@few
def test_acyclic_counts_are_those_of_the_messages_sent(snapshot: Snapshot, seed: int) -> None:
    links = random_tree(len(snapshot.brokers), seed)
    check_counts(
        acyclic(tree(len(snapshot.brokers), links), snapshot),
        DullAcyclic(links, snapshot),
        snapshot,
    )


@given(snapshots(), st.integers(0, 2**16), st.floats(0.0, 1.0))
@few
def test_topic_connected_counts_are_those_of_the_messages_sent(
    snapshot: Snapshot, seed: int, density: float
) -> None:
    links = random_graph(len(snapshot.brokers), density, seed)
    forwarding, twin = (
        topic_connected(graph(len(snapshot.brokers), links), snapshot),
        DullTopicConnected(links, snapshot),
    )
    check_counts(forwarding, twin, snapshot)
    for topic in range(len(snapshot.topics)):
        for publisher in range(len(snapshot.brokers)):
            flooded = forwarding.flooding(topic, publisher)
            assert flooded.internal == twin.flooded(topic, publisher)


@given(snapshots(broker_count_max=7), st.integers(0, 2**16), st.floats(0.3, 1.0))
@few
def test_k_held_is_the_least_loss_that_parts_a_topic(
    snapshot: Snapshot, seed: int, density: float
) -> None:
    links = random_graph(len(snapshot.brokers), density, seed)
    joined = nx.Graph(links.tolist())
    joined.add_nodes_from(range(len(snapshot.brokers)))
    parting = [
        len(members) - left_count
        for members in members_of(snapshot)
        for left_count in range(2, len(members) + 1)
        for left in combinations(sorted(members), left_count)
        if not nx.is_connected(joined.subgraph(left))
    ]
    forwarding = topic_connected(graph(len(snapshot.brokers), links), snapshot)
    nobody_can = max(len(snapshot.brokers) - 1, 1)
    assert forwarding.totals().k_held == min(parting, default=nobody_can)


def random_tree(broker_count: int, seed: int) -> Int32Array:
    """Each broker of a random order hangs from an earlier one."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(broker_count)
    links = [(order[rng.integers(index)], order[index]) for index in range(1, broker_count)]
    return np.sort(np.array(links, dtype=np.int32).reshape(-1, 2), axis=1)


def random_graph(broker_count: int, density: float, seed: int) -> Int32Array:
    chosen = np.random.default_rng(seed).random((broker_count, broker_count)) < density
    return np.argwhere(np.triu(chosen, 1)).astype(np.int32)
