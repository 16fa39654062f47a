"""Broker interests over time: a broker wants what at least one of its clients wants.

Reference counts are window sums over changes netted by moment: 0 to 1 subscribes, 1 to 0
unsubscribes, and what comes and goes at the same moment is no change.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import (
    BROKER_CHANGES,
    BROKER_SPANS,
    HOSTED_CHANGES,
    SNAPSHOTS,
)
from meshwright.pipeline.stages.interests import interest_spans
from meshwright.pipeline.tables.frames import conform, one_history
from meshwright.pipeline.tables.timeline import Timeline


def hosted_changes(interests: DataFrame, placements: DataFrame) -> DataFrame:
    """HOSTED_CHANGES: a client's want counts at its broker; a hand-over takes all wants along."""
    stays = one_history("placement", "client").orderBy("time")
    hosted = placements.withColumn("leave", sf.lead("time").over(stays)).select(
        "placement", "client", "broker", sf.col("time").alias("come"), "leave"
    )
    at_once = "(leave is null or begin < leave) and (end is null or come < end)"
    ends = sf.array(
        sf.struct(sf.greatest("begin", "come").alias("time"), sf.lit(1).alias("change")),
        sf.struct(sf.least("end", "leave").alias("time"), sf.lit(-1).alias("change")),
    )
    netted = (
        interest_spans(interests)
        .join(hosted, on="client", how="inner")
        .where(at_once)
        .select("placement", "broker", "topic", sf.explode(ends).alias("moved"))
        .select("placement", "broker", "topic", "moved.time", "moved.change")
        .where("time is not null")
        .repartition("placement", "broker", "topic")  # so that the windows to come need no other
        .groupBy("placement", "broker", "topic", "time")
        .agg(sf.sum("change").alias("change"))
        .where("change != 0")
    )
    return conform(netted, HOSTED_CHANGES)


def broker_changes(hosted: DataFrame) -> DataFrame:
    """BROKER_CHANGES of reference counts that leave 0 or come back to it."""
    history = one_history("placement", "broker", "topic").orderBy("time")
    counts = sf.sum("change").over(history.rowsBetween(Window.unboundedPreceding, 0))
    changed = (
        hosted.withColumn("clients", counts)
        .where("(clients > 0) != (clients - change > 0)")
        .withColumn("is_on", sf.expr("clients > 0"))
    )
    return conform(changed, BROKER_CHANGES)


def broker_spans(changes: DataFrame, timeline: Timeline) -> DataFrame:
    """BROKER_SPANS: broker interests as runs of slots, cut where epochs begin."""
    history = one_history("placement", "broker", "topic").orderBy("time")
    end = sf.coalesce(
        timeline.slot_after(sf.lead("time").over(history)),
        sf.lit(timeline.slot_count),
    )
    runs = (
        changes.withColumn("begin", timeline.slot_after(sf.col("time")))
        .withColumn("end", sf.least(end, sf.lit(timeline.slot_count)))
        .where("is_on and begin < end")
    )
    epochs = sf.sequence(timeline.epoch_of(sf.col("begin")), timeline.epoch_of(sf.col("end") - 1))
    first = sf.col("epoch") * timeline.epoch_slots
    cut = (
        runs.withColumn("epoch", sf.explode(epochs))
        .withColumn("slot_first", sf.greatest("begin", first))
        .withColumn("slot_end", sf.least("end", first + timeline.epoch_slots))
    )
    return conform(cut, BROKER_SPANS)


def snapshots(spans: DataFrame, rates: DataFrame, timeline: Timeline) -> DataFrame:
    """SNAPSHOTS at the start of every epoch, with the rates as they were estimated until then."""
    slots = timeline.epoch_slots
    expected = rates.where(sf.col("slot_end") % slots == 0).select(
        timeline.epoch_of(sf.col("slot_end")).alias("epoch"),
        "topic",
        (sf.col("rate") * slots).alias("expected"),
    )
    standing = spans.where(sf.col("slot_first") == sf.col("epoch") * slots)
    joined = standing.join(expected, on=["epoch", "topic"], how="left").withColumn(
        "publications", sf.coalesce("expected", sf.lit(0.0))
    )
    return conform(joined, SNAPSHOTS)
