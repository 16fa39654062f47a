"""What closed forms must agree on with messages that are really sent."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from dull_messages import Trace, Twin, members_of

from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.forwarding import Carrier, Forwarding, Traffic
from meshwright.planning.evaluation.rendezvous import Rendezvous


def check_counts(forwarding: Forwarding, twin: Twin, snapshot: Snapshot) -> None:
    """Single counts for each (topic, publisher), and the totals for all of them together."""
    traces = [
        [twin.publication(topic, publisher) for publisher in range(len(snapshot.brokers))]
        for topic in range(len(snapshot.topics))
    ]
    check_single_counts(forwarding, twin, traces, members_of(snapshot))
    check_totals(forwarding, traces, snapshot)
    if not isinstance(forwarding, Rendezvous):
        check_carrier(forwarding, forwarding, snapshot)


def check_places(forwarding: Forwarding, carrier: Carrier, twin: Twin, placed: Snapshot) -> None:
    """With publishers in places, sums are those of the messages sent, each as often as it is."""
    assert placed.publishers is not None
    totals, traffic, members = forwarding.totals(), carrier.traffic(), members_of(placed)
    broker_count = len(placed.brokers)
    loads = np.zeros(broker_count)
    for topic, entering in enumerate(placed.publishers.T.tolist()):
        expected = dict.fromkeys((field.name for field in fields(Traffic)), 0.0)
        for publisher, count in enumerate(entering):
            weight = count * broker_count / sum(entering) if sum(entering) else 1.0
            trace = twin.publication(topic, publisher)
            internal = sum(target in members[topic] for _, target in trace.spread)
            hops = sum(trace.arrivals_hops.values())
            expected["internal"] += weight * internal
            expected["external"] += weight * (len(trace.spread) - internal)
            expected["entry"] += weight * len(trace.entry)
            expected["delivered"] += weight * len(trace.arrivals_hops)
            expected["missed"] += weight * (len(members[topic]) - len(trace.arrivals_hops))
            expected["delay_hops"] += weight * hops
            expected["delay_tree_hops"] += weight * (
                hops - len(trace.arrivals_hops) * len(trace.entry)
            )
            expected["delay_ms"] += weight * sum(trace.arrivals_ms.values())
            for broker in (end for ends in trace.messages for end in ends):
                loads[broker] += weight * placed.publications[topic]
        del expected["delay_tree_ms"]
        for found in (totals, traffic):
            for name, value in expected.items():
                if (sums := getattr(found, name)) is not None:
                    assert sums[topic] == pytest.approx(value), name
    assert totals.loads == pytest.approx(loads)


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


def check_carrier(carrier: Carrier, forwarding: Forwarding, snapshot: Snapshot) -> None:
    """What a replay asks is what single counts and totals say."""
    totals, traffic = forwarding.totals(), carrier.traffic()
    for field in fields(Traffic):
        expected, found = getattr(totals, field.name), getattr(traffic, field.name)
        assert (found is None) == (expected is None)
        if expected is not None:
            assert found.tolist() == expected.tolist(), field.name
    shape = (len(snapshot.topics), len(snapshot.brokers))
    topics, brokers = (array.ravel() for array in np.indices(shape))
    assert carrier.subscriptions(topics, brokers).tolist() == [
        forwarding.subscription(topic, broker)
        for topic, broker in zip(topics.tolist(), brokers.tolist(), strict=True)
    ]
