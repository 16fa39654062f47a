"""Our planner moves brokers by where publications entered in the epoch before, wanted or not."""

from __future__ import annotations

import numpy as np
from pyspark.sql import SparkSession

from meshwright.files.decoding import decoded
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.stages.overlays import overlays
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.timeline import Timeline
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.succession import EpochRules

NAMES = tuple(BrokerName(f"b{number}") for number in range(6))
TOPICS = (TopicName("unwanted"), TopicName("wanted"))
HOURS = Timeline(0, 3_600_000_000, 4, 2)
RATES = (9000.0, 500.0)


def test_ways_in_of_the_epoch_before_are_planned(spark: SparkSession) -> None:
    snapshots = spark.createDataFrame(
        [("static", epoch, "b1", "wanted", RATES[1]) for epoch in range(2)],
        "placement string, epoch long, broker string, topic string, publications double",
    )
    entered = spark.createDataFrame(
        [("static", slot, "unwanted", "b2", 4500) for slot in range(2)]
        + [("static", 0, "wanted", "b3", 300), ("static", 1, "wanted", None, 200)],
        "placement string, slot long, topic string, broker string, publications long",
    )
    designs, rules = ["chord", "dynatops"], EpochRules(beta=0.0)
    found = overlays(
        snapshots, Brokers(NAMES), designs, rules,
        placements=["static"], timeline=HOURS, seed=1, entries=entered,
    )  # fmt: skip
    rows = {(row.design, row.epoch): decoded(row.overlay, Overlay) for row in found.collect()}
    assert set(rows) == {(design, epoch) for design in designs for epoch in range(2)}
    publishers = np.zeros((6, 2))
    publishers[2, 0], publishers[3, 1] = RATES[0], 300.0
    publishers[:, 1] += 200.0 / 6
    snapshot = Snapshot(
        NAMES,
        TOPICS,
        interests_from_sets([{1} if name == "b1" else set() for name in NAMES], 2),
        np.array(RATES),
        publishers=publishers,
    )
    begun, moved = (evaluate(rows["dynatops", epoch], snapshot) for epoch in range(2))
    assert begun.messages_entry > 0.0
    assert moved.messages_entry < begun.messages_entry
    assert rows["chord", 1] == rows["chord", 0]
