from __future__ import annotations

import pytest
from literal_tables import frame, timeline
from pyspark.sql import SparkSession

from meshwright.model.replay_schema import (
    BROKER_CHANGES,
    HOSTED_CHANGES,
    OVERLAYS,
    PLACEMENTS,
    REPLAYED,
)
from meshwright.pipeline.stages.metrics import Replayed, comparison, metrics


def tables(spark: SparkSession) -> Replayed:
    """Two brokers, three slots, epochs of two; sums over publishers are twice what is sent."""
    counts = (
        10,
        4,
        6,
        2,
        20,
        40,
        30,
        None,
    )  # internal, external, entry, repair, deliveries, delays
    return Replayed(
        replayed=frame(
            spark,
            REPLAYED,
            [
                ("p", "d", 0, 0, 0, 3, *counts, 5),
                ("p", "d", 0, 0, 1, 1, *counts, 7),
                ("p", "d", 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, None, 0),
                ("p", "d", 1, 2, 0, 4, *counts, 1),
            ],
        ),
        overlays=frame(
            spark,
            OVERLAYS,
            [
                ("p", "d", 0, "{}", 0.0, 0, None, None, "", 1.0, 1, 2, 0.5, 9.0),
                ("p", "d", 1, "{}", 8.0, 2, 1.0, 1.0, "", 2.0, 3, 1, 0.25, None),
            ],
        ),
        placements=frame(
            spark, PLACEMENTS, [("p", 0, "ann", "a"), ("p", 0, "bob", "a"), ("p", 1.5, "ann", "b")]
        ),
        hosted=frame(
            spark,
            HOSTED_CHANGES,
            [("p", 0, "a", "t", 2), ("p", 1.5, "a", "t", -1), ("p", 1.5, "b", "t", 1)],
        ),
        changes=frame(
            spark, BROKER_CHANGES, [("p", 0, "a", "t", True), ("p", 1.5, "b", "t", True)]
        ),
    )


def test_a_slot_has_sums_means_and_what_belongs_to_its_placement(spark: SparkSession) -> None:
    found = metrics(tables(spark), timeline(3, 2), 2, {"p": 100}).orderBy("slot").collect()
    assert [row.slot for row in found] == [0, 1, 2]
    assert [row.publications for row in found] == [4, 0, 4]
    assert [row.management_messages for row in found] == [112, 100, 101]
    assert [row.subscription_changes for row in found] == [1, 1, 0]
    assert [row.hand_overs for row in found] == [0, 1, 0]
    assert [row.load_mean for row in found] == [1.0, 1.0, 1.0]
    assert [row.load_deviation for row in found] == [1.0, 1.0, 0.0]
    assert [row.reconfiguration_messages for row in found] == [0.0, 0.0, 8.0]
    assert [row.messages_internal for row in found] == [10.0, 0.0, 5.0]
    assert [row.notification_overhead for row in found] == [5.5, 0.0, 2.75]
    assert [row.delay_hops for row in found] == [2.0, 0.0, 2.0]
    assert [row.delay_tree_hops for row in found] == [1.5, 0.0, 1.5]
    assert [row.delay_ms for row in found] == [None, None, None]


def test_the_comparison_leaves_out_the_first_slots(spark: SparkSession) -> None:
    given = tables(spark)
    by_slot = metrics(given, timeline(3, 2), 2, {})
    whole, later = (
        comparison(by_slot, given.overlays, warmup_slots=slots).collect()[0] for slots in (0, 1)
    )
    assert (whole.publications, later.publications) == (8, 4)
    assert (whole.subscription_changes, later.subscription_changes) == (2, 1)
    assert whole.notification_overhead == pytest.approx(33 / 8)
    assert later.notification_overhead == pytest.approx(11 / 4)
    assert whole.delay_hops == later.delay_hops == 2.0
    assert whole.delay_ms is None
    assert whole.load_deviation == pytest.approx(2 / 3)
    assert (whole.reconfigurations, whole.reconfiguration_messages) == (1, 8.0)
    assert (whole.degree_mean, whole.degree_max, whole.k_held) == (1.5, 3, 1)
    assert whole.load_spread == 0.5
    assert whole.pays_from is None
