"""Closed forms against messages that are really sent, for every way of forwarding."""

from __future__ import annotations

import numpy as np
from dull_messages import (
    DullAcyclic,
    DullPartition,
    DullRendezvous,
    DullTopicConnected,
    Trace,
    Twin,
    members_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshots import snapshots

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.hypercube import dimensions_for, hypercube
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.planning.evaluation.acyclic import acyclic
from meshwright.planning.evaluation.forwarding import Forwarding
from meshwright.planning.evaluation.partition import EventReading, partition
from meshwright.planning.evaluation.rendezvous import rendezvous
from meshwright.planning.evaluation.topic_connected import topic_connected

few = settings(max_examples=60, deadline=None)


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
    check_counts(
        rendezvous(geometry, positions, roots, snapshot),
        DullRendezvous(geometry, positions, roots, snapshot),
        snapshot,
    )


@given(snapshots(broker_count_max=20), st.integers(0, 2**16), st.booleans())
@few
def test_partition_counts_are_those_of_the_messages_sent(
    snapshot: Snapshot, seed: int, is_broadcast: bool
) -> None:
    rng = np.random.default_rng(seed)
    broker_count = len(snapshot.brokers)
    low_bit_count = int(rng.integers(1, max(2, dimensions_for(broker_count))))
    cube = hypercube(broker_count, low_bit_count=low_bit_count)
    positions = rng.permutation(broker_count).astype(np.int32)
    twin = DullPartition(
        cube.dimension_count, low_bit_count, positions, snapshot, is_broadcast=is_broadcast
    )
    reading: EventReading = "broadcast" if is_broadcast else "selective"
    check_counts(partition(cube, positions, snapshot, reading), twin, snapshot)


@given(snapshots(), st.integers(0, 2**16))
@few
def test_acyclic_counts_are_those_of_the_messages_sent(snapshot: Snapshot, seed: int) -> None:
    links = random_tree(len(snapshot.brokers), seed)
    check_counts(acyclic(links, snapshot), DullAcyclic(links, snapshot), snapshot)


@given(snapshots(), st.integers(0, 2**16), st.floats(0.0, 1.0))
@few
def test_topic_connected_counts_are_those_of_the_messages_sent(
    snapshot: Snapshot, seed: int, density: float
) -> None:
    links = random_graph(len(snapshot.brokers), density, seed)
    forwarding, twin = topic_connected(links, snapshot), DullTopicConnected(links, snapshot)
    check_counts(forwarding, twin, snapshot)
    for topic in range(len(snapshot.topics)):
        for publisher in range(len(snapshot.brokers)):
            flooded = forwarding.flooding(topic, publisher)
            assert flooded.internal == twin.flooded(topic, publisher)


def check_counts(forwarding: Forwarding, twin: Twin, snapshot: Snapshot) -> None:
    """Single counts for each (topic, publisher), and the totals for all of them together."""
    traces = [
        [twin.publication(topic, publisher) for publisher in range(len(snapshot.brokers))]
        for topic in range(len(snapshot.topics))
    ]
    check_single_counts(forwarding, twin, traces, members_of(snapshot))
    check_totals(forwarding, traces, snapshot)


def check_single_counts(
    forwarding: Forwarding, twin: Twin, traces: list[list[Trace]], members: list[set[int]]
) -> None:
    for topic, of_topic in enumerate(traces):
        for publisher, trace in enumerate(of_topic):
            counted = forwarding.publication(topic, publisher)
            internal = sum(target in members[topic] for _, target in trace.spread)
            assert counted.entry == len(trace.entry)
            assert counted.internal == internal
            assert counted.external == len(trace.spread) - internal
            assert counted.total == len(trace.messages)
            assert counted.delays_hops.tolist() == [
                trace.arrivals_hops.get(member, -1) for member in sorted(members[topic])
            ]
            assert forwarding.subscription(topic, publisher) == twin.subscription(topic, publisher)


def check_totals(forwarding: Forwarding, traces: list[list[Trace]], snapshot: Snapshot) -> None:
    totals = forwarding.totals()
    members = members_of(snapshot)
    loads = np.zeros(len(snapshot.brokers))
    management = 0
    for topic, of_topic in enumerate(traces):
        counted = [forwarding.publication(topic, p) for p in range(len(snapshot.brokers))]
        arrivals = [trace.arrivals_hops for trace in of_topic]
        hops = [sum(of_trace.values()) for of_trace in arrivals]
        spread = sum(
            len(arrival) * len(t.entry) for arrival, t in zip(arrivals, of_topic, strict=True)
        )
        assert totals.internal[topic] == sum(messages.internal for messages in counted)
        assert totals.external[topic] == sum(messages.external for messages in counted)
        assert totals.entry[topic] == sum(messages.entry for messages in counted)
        delivered = sum(len(of_trace) for of_trace in arrivals)
        assert totals.delivered[topic] == delivered
        assert totals.missed[topic] == len(arrivals) * len(members[topic]) - delivered
        assert totals.delay_hops[topic] == sum(hops)
        assert totals.delay_tree_hops[topic] == sum(hops) - spread
        if totals.delay_ms is not None:
            assert totals.delay_ms[topic] == sum(sum(t.arrivals_ms.values()) for t in of_topic)
        assert totals.diameters[topic] == max(
            (
                hop
                for publisher in members[topic]
                for member, hop in arrivals[publisher].items()
                if member != publisher
            ),
            default=0,
        )
        for trace in of_topic:
            for ends in trace.messages:
                for broker in ends:
                    loads[broker] += snapshot.publications[topic]
        management += sum(forwarding.subscription(topic, member) for member in members[topic])
    assert (totals.delay_ms is None) == (snapshot.delays_ms is None)
    assert totals.loads.tolist() == loads.tolist()
    assert totals.management == management


def random_tree(broker_count: int, seed: int) -> Int32Array:
    """Each broker of a random order hangs from an earlier one."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(broker_count)
    links = [(order[rng.integers(index)], order[index]) for index in range(1, broker_count)]
    return np.sort(np.array(links, dtype=np.int32).reshape(-1, 2), axis=1)


def random_graph(broker_count: int, density: float, seed: int) -> Int32Array:
    chosen = np.random.default_rng(seed).random((broker_count, broker_count)) < density
    return np.argwhere(np.triu(chosen, 1)).astype(np.int32)
