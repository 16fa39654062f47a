"""Replay: what every topic's publications and subscriptions cost on the overlays of their epochs.

A unit of work is an epoch of one placement and a bucket of topics, under all designs. The topics
of a unit are laid side by side slot by slot, as if each slot of a topic were a topic of its own,
and planning's closed forms count them all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import REPLAYED
from meshwright.pipeline.stages.packed_overlays import PackedOverlays, packed_overlays
from meshwright.pipeline.stages.rates import topic_bucket
from meshwright.pipeline.stages.replay_units import (
    ANYWHERE,
    CHANGE,
    PUBLISHED,
    SPAN,
    counted,
    replay_unit,
)
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.frames import arrow_table, conform, spark_schema
from meshwright.pipeline.tables.timeline import Timeline
from meshwright.planning.evaluation.evaluate import carrier_of

NOTHING = 3
EVENTS = (
    "placement string, epoch long, topic string, kind int, number long, first long, second long, "
    "amount long, bucket long"
)
UNITS_AT_ONCE_MAX = 256
# A unit has tables of brokers by slots of its topics: so large, and so many topics, at most.
CELLS_AT_ONCE = 4_000_000
TOPICS_AT_ONCE_MAX = 4_096


@dataclass(frozen=True, slots=True)
class ReplayInputs:
    """What is replayed: BROKER_SPANS, BROKER_CHANGES and RATES; and on what: OVERLAYS.

    entries: ENTRIES, where it is known; else publications enter at any broker alike.
    """

    spans: DataFrame
    changes: DataFrame
    rates: DataFrame
    overlays: DataFrame
    entries: DataFrame | None = None


def replayed(
    inputs: ReplayInputs,
    brokers: Brokers,
    timeline: Timeline,
    *,
    placements: Sequence[str],
    topics_at_once: int,
) -> DataFrame:
    """REPLAYED by slot and bucket; publications meet the interests of their slot's start.

    topics_at_once: of a unit; 0 for as many as fit.
    """
    keys = ["placement", "epoch", "bucket"]
    topic_count = inputs.rates.select("topic").distinct().count()
    fitting = CELLS_AT_ONCE // (brokers.count * timeline.epoch_slots)
    at_once = topics_at_once or min(max(fitting, 1), TOPICS_AT_ONCE_MAX)
    bucket_count = max(-(-topic_count // at_once), 1)
    unit_count = len(placements) * timeline.epoch_count * bucket_count
    packed = packed_overlays(inputs.overlays, brokers.names)
    events = _events(inputs, brokers, timeline, placements).withColumn(
        "bucket", topic_bucket(bucket_count)
    )
    found = (
        events.unionByName(_nothing(events.sparkSession, timeline, placements))
        # An explicit number keeps adaptive execution from putting all units into one task.
        .repartition(min(unit_count, UNITS_AT_ONCE_MAX), *keys)
        .groupBy(*keys)
        .applyInArrow(_replayer(packed, brokers, timeline), spark_schema(REPLAYED))
    )
    return conform(found, REPLAYED)


def _events(
    inputs: ReplayInputs, brokers: Brokers, timeline: Timeline, placements: Sequence[str]
) -> DataFrame:
    """placement, epoch, topic, kind, number, first, second, amount: three tables in one, by kind.

    SPAN: broker's number, slots from first to before second. CHANGE: broker's number, slot.
    PUBLISHED: broker's number or ANYWHERE; amount in each of the slots from first to before second.
    """
    slot = timeline.slot_of(sf.col("time"))
    spans = brokers.numbered(inputs.spans).select(
        "placement",
        "epoch",
        "topic",
        sf.lit(SPAN).alias("kind"),
        "number",
        sf.col("slot_first").alias("first"),
        sf.col("slot_end").alias("second"),
        sf.lit(0).alias("amount"),
    )
    changes = brokers.numbered(inputs.changes).select(
        "placement",
        timeline.epoch_of(slot).alias("epoch"),
        "topic",
        sf.lit(CHANGE).alias("kind"),
        "number",
        slot.alias("first"),
        slot.alias("second"),
        sf.lit(0).alias("amount"),
    )
    published = _entering(inputs, brokers, placements).select(
        "placement",
        timeline.epoch_of(sf.col("slot_first")).alias("epoch"),
        "topic",
        sf.lit(PUBLISHED).alias("kind"),
        sf.coalesce("number", sf.lit(ANYWHERE)).alias("number"),
        sf.col("slot_first").alias("first"),
        sf.col("slot_end").alias("second"),
        sf.col("publications").alias("amount"),
    )
    return spans.unionByName(changes).unionByName(published)


def _entering(inputs: ReplayInputs, brokers: Brokers, placements: Sequence[str]) -> DataFrame:
    """RATES by placement, with the number of the broker where they enter, none for anywhere."""
    if inputs.entries is not None:
        return brokers.numbered(inputs.entries, how="left").select(
            "placement",
            sf.col("slot").alias("slot_first"),
            (sf.col("slot") + 1).alias("slot_end"),
            "topic",
            "publications",
            "number",
        )
    every_placement = sf.explode(sf.array(*(sf.lit(name) for name in placements)))
    return inputs.rates.where("publications > 0").select(
        every_placement.alias("placement"),
        "slot_first",
        "slot_end",
        "topic",
        "publications",
        sf.lit(None).cast("int").alias("number"),
    )


def _nothing(session: SparkSession, timeline: Timeline, placements: Sequence[str]) -> DataFrame:
    """An event of no kind in every epoch: slots in which nothing happens are counted too."""
    rows = [
        (placement, epoch, "", NOTHING, 0, 0, 0, 0, 0)
        for placement in placements
        for epoch in range(timeline.epoch_count)
    ]
    return session.createDataFrame(rows, EVENTS)


def _replayer(
    overlays: PackedOverlays, brokers: Brokers, timeline: Timeline
) -> Callable[..., pa.Table]:
    def replay(key: tuple[Any, ...], events: pa.Table) -> pa.Table:
        placement, epoch, bucket = (part.as_py() for part in key)
        first = epoch * timeline.epoch_slots
        slot_count = min(timeline.epoch_slots, timeline.slot_count - first)
        unit = replay_unit(events, brokers, first, slot_count)
        rows = []
        for design, number in overlays.numbers[placement, epoch]:
            counts = counted(unit, carrier_of(overlays.unpacked(number), unit.snapshot))
            for slot in range(slot_count):
                row = {name: values[slot] for name, values in counts.items()}
                rows.append(
                    {
                        "placement": placement,
                        "design": design,
                        "epoch": epoch,
                        "slot": first + slot,
                        "bucket": bucket,
                        **row,
                    }
                )
        return arrow_table(REPLAYED, rows)

    return replay
