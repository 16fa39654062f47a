"""Entries: at which broker publications enter, slot by slot, under every placement."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import ENTRIES
from meshwright.pipeline.tables.frames import conform, one_history
from meshwright.pipeline.tables.timeline import Timeline


def entries(
    publications: DataFrame,
    placed: DataFrame,
    connections: DataFrame | None,
    timeline: Timeline,
    placements: Sequence[str],
) -> DataFrame:
    """ENTRIES: a publisher is where its placement has it in the slot, the last place counting.

    Whom no placement has, as it wants nothing, is where its last connection was; who was never
    connected may be anywhere. placed: PLACEMENTS.
    """
    every_placement = sf.explode(sf.array(*(sf.lit(name) for name in placements)))
    slot = timeline.slot_of(sf.col("time"))
    rows = [
        publications.select("publisher", "topic", slot.alias("slot"))
        .where(sf.col("slot").between(0, timeline.slot_count - 1))
        .groupBy(sf.col("publisher").alias("client"), "topic", "slot")
        .agg(sf.count("*").alias("publications"))
        .withColumn("placement", every_placement),
        placed.select("placement", "client", slot.alias("slot"), "time", "broker"),
    ]
    if connections is not None:
        rows.append(
            connections.where("is_on")
            .select("client", slot.alias("slot"), "time", sf.col("broker").alias("connected"))
            .withColumn("placement", every_placement)
        )
    together = rows[0]
    for other in rows[1:]:
        together = together.unionByName(other, allowMissingColumns=True)
    if connections is None:
        together = together.withColumn("connected", sf.lit(None).cast("string"))
    found = (
        together.withColumn("at", sf.coalesce(_latest("broker"), _latest("connected")))
        .where("publications is not null")
        .groupBy("placement", "slot", "topic", sf.col("at").alias("broker"))
        .agg(sf.sum("publications").alias("publications"))
    )
    return conform(found, ENTRIES)


def _latest(column: str) -> Column:
    """The last known value of a client's history; what is published in a slot comes at its end."""
    history = one_history("placement", "client").orderBy(
        "slot", sf.col("publications").isNotNull(), "time"
    )
    so_far = history.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return sf.last(column, ignorenulls=True).over(so_far)
