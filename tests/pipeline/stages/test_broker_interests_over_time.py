from __future__ import annotations

from collections import Counter

import numpy as np
from literal_tables import found, frame, timeline
from pyspark.sql import SparkSession

from meshwright.model.replay_schema import (
    BROKER_CHANGES,
    HOSTED_CHANGES,
    INTERESTS,
    PLACEMENTS,
    RATES,
)
from meshwright.pipeline.stages.broker_interests import (
    broker_changes,
    broker_spans,
    hosted_changes,
    snapshots,
)


def test_a_hand_over_takes_all_wants_along(spark: SparkSession) -> None:
    interests = frame(
        spark,
        INTERESTS,
        [(0, "ann", "t", True), (1, "ann", "u", True), (3, "ann", "t", False)],
    )
    placements = frame(spark, PLACEMENTS, [("p", 0, "ann", "a"), ("p", 2, "ann", "b")])
    assert found(hosted_changes(interests, placements)) == [
        ("p", 0.0, "a", "t", 1),
        ("p", 1.0, "a", "u", 1),
        ("p", 2.0, "a", "t", -1),
        ("p", 2.0, "a", "u", -1),
        ("p", 2.0, "b", "t", 1),
        ("p", 2.0, "b", "u", 1),
        ("p", 3.0, "b", "t", -1),
    ]


def test_a_broker_subscribes_for_its_first_client_and_ceases_with_its_last(
    spark: SparkSession,
) -> None:
    hosted = frame(
        spark,
        HOSTED_CHANGES,
        [
            ("p", 0, "a", "t", 2),
            ("p", 1, "a", "t", -1),
            ("p", 2, "a", "t", -1),
            ("q", 1, "a", "t", 1),
        ],
    )
    assert found(broker_changes(hosted)) == [
        ("p", 0.0, "a", "t", True),
        ("p", 2.0, "a", "t", False),
        ("q", 1.0, "a", "t", True),
    ]


def test_two_clients_that_swap_brokers_at_one_moment_change_no_subscription(
    spark: SparkSession,
) -> None:
    interests = frame(spark, INTERESTS, [(0, "ann", "t", True), (0, "bob", "t", True)])
    placements = frame(
        spark,
        PLACEMENTS,
        [("p", 0, "ann", "a"), ("p", 0, "bob", "b"), ("p", 1, "ann", "b"), ("p", 1, "bob", "a")],
    )
    assert found(broker_changes(hosted_changes(interests, placements))) == [
        ("p", 0.0, "a", "t", True),
        ("p", 0.0, "b", "t", True),
    ]


def test_spans_are_cut_at_epochs_and_begin_with_the_slot_that_sees_them(
    spark: SparkSession,
) -> None:
    changes = frame(
        spark,
        BROKER_CHANGES,
        [
            ("p", 0, "a", "t", True),
            ("p", 2.5, "a", "t", False),
            ("p", 2.6, "a", "t", True),
            ("p", 1.2, "b", "t", True),
            ("p", 1.8, "b", "t", False),
        ],
    )
    assert found(broker_spans(changes, timeline(5, 2))) == [
        ("p", 0, "a", "t", 0, 2),
        ("p", 1, "a", "t", 2, 3),
        ("p", 1, "a", "t", 3, 4),
        ("p", 2, "a", "t", 4, 5),
    ]


def test_a_snapshot_knows_the_rates_of_the_slots_before_it(spark: SparkSession) -> None:
    changes = frame(spark, BROKER_CHANGES, [("p", 0, "a", "t", True), ("p", 3, "b", "t", True)])
    rates = frame(spark, RATES, [(slot, slot + 1, "t", 7, float(slot)) for slot in range(4)])
    spans = broker_spans(changes, timeline(4, 2))
    assert found(snapshots(spans, rates, timeline(4, 2))) == [
        ("p", 0, "a", "t", 0.0),
        ("p", 1, "a", "t", 2.0),
    ]


def test_reference_counts_equal_a_plain_count_of_every_client(spark: SparkSession) -> None:
    rng = np.random.default_rng(5)
    interests: list[tuple[float, str, str, bool]] = []
    placements: list[tuple[str, float, str, str]] = []
    for client in range(12):
        name = f"c{client}"
        placements += [("p", float(hour), name, f"b{rng.integers(3)}") for hour in (0, 4, 9)]
        for topic in range(4):
            times = np.sort(rng.choice(20, size=4, replace=False))
            interests += [
                (float(time), name, f"t{topic}", turn % 2 == 0) for turn, time in enumerate(times)
            ]
    hosted = hosted_changes(
        frame(spark, INTERESTS, interests), frame(spark, PLACEMENTS, placements)
    )
    assert found(broker_changes(hosted)) == plain_changes(interests, placements)


def plain_changes(
    interests: list[tuple[float, str, str, bool]], placements: list[tuple[str, float, str, str]]
) -> list[tuple[str, float, str, str, bool]]:
    """Every client looked at every half hour."""
    changes = []
    before: Counter[tuple[str, str]] = Counter()
    for moment in range(41):
        time = moment / 2
        hosts = {
            client: broker
            for _, since, client, broker in sorted(placements, key=lambda row: row[1])
            if since <= time
        }
        wants = {
            (client, topic): is_on
            for since, client, topic, is_on in sorted(interests, key=lambda row: row[0])
            if since <= time
        }
        now = Counter((hosts[client], topic) for (client, topic), is_on in wants.items() if is_on)
        for broker, topic in now.keys() | before.keys():
            if (now[broker, topic] > 0) != (before[broker, topic] > 0):
                changes.append(("p", time, broker, topic, now[broker, topic] > 0))
        before = now
    return sorted(changes, key=repr)
