"""Metrics by slot, and the comparison of placements and designs over all slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import COMPARISON, METRICS
from meshwright.pipeline.tables.frames import arrow_table, conform, one_history, spark_schema
from meshwright.pipeline.tables.timeline import Timeline

SUMS = (
    "publications",
    "messages_internal",
    "messages_external",
    "messages_entry",
    "messages_repair",
    "deliveries",
    "delay_hops",
    "delay_tree_hops",
    "delay_us",
    "management_messages",
)
DIFFERENCES = ("subscription_changes", "hand_overs", "load", "squares")
MESSAGES = ("messages_internal", "messages_external", "messages_entry", "messages_repair")
DELAYS = ("delay_hops", "delay_tree_hops", "delay_ms")
ADDED = (
    "publications",
    "deliveries",
    "subscription_changes",
    "management_messages",
    *MESSAGES,
    "hand_overs",
    "reconfiguration_messages",
)
MICROSECONDS_PER_MS = 1000


@dataclass(frozen=True, slots=True)
class Replayed:
    """The tables of the stages before."""

    replayed: DataFrame
    overlays: DataFrame
    placements: DataFrame
    hosted: DataFrame
    changes: DataFrame


def metrics(
    tables: Replayed, timeline: Timeline, broker_count: int, exchange_messages: Mapping[str, int]
) -> DataFrame:
    """METRICS of every slot; exchange_messages: between brokers, each slot, by placement.

    All sums are of whole numbers, so that they do not depend on their order. From there on there
    is a row for each slot and design, which one task for each placement can hold.
    """
    sums = tables.replayed.groupBy("placement", "design", "slot").agg(
        *(sf.sum(name).alias(name) for name in SUMS)
    )
    begun = tables.overlays.select(
        "placement",
        "design",
        (sf.col("epoch") * timeline.epoch_slots).alias("slot"),
        "reconfiguration_messages",
    )
    of_designs = sums.join(begun, on=["placement", "design", "slot"], how="left")
    sides = [frame.groupBy("placement") for frame in (of_designs, _of_placements(tables, timeline))]
    summary = summary_of_slots(timeline.slot_count, broker_count, exchange_messages)
    return conform(sides[0].cogroup(sides[1]).applyInArrow(summary, spark_schema(METRICS)), METRICS)


def summary_of_slots(
    slot_count: int, broker_count: int, exchange_messages: Mapping[str, int]
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """From sums over publishers to means, and from differences of loads to their deviation."""

    def summarised(designs: pa.Table, placement: pa.Table) -> pa.Table:
        by_slot = {name: np.zeros(slot_count, dtype=np.int64) for name in DIFFERENCES}
        slots = placement["slot"].to_numpy()
        counted = (slots >= 0) & (slots < slot_count)
        for name, values in by_slot.items():
            np.add.at(values, slots[counted], placement[name].to_numpy()[counted])
        loads, squares = np.cumsum(by_slot["load"]), np.cumsum(by_slot["squares"])
        variance = (squares * broker_count - loads * loads) / broker_count**2
        rows = designs["slot"].to_numpy()
        found = {name: designs[name] for name in ("placement", "design", "slot", "publications")}
        found |= {name: by_slot[name][rows] for name in ("subscription_changes", "hand_overs")}
        found["load_mean"] = (loads / broker_count)[rows]
        found["load_deviation"] = np.sqrt(variance)[rows]
        exchanged = exchange_messages.get(designs["placement"][0].as_py(), 0)
        found["management_messages"] = designs["management_messages"].to_numpy() + exchanged
        found["reconfiguration_messages"] = pc.fill_null(designs["reconfiguration_messages"], 0.0)
        found |= _means(designs, broker_count)
        return pa.table({column: found[column] for column in METRICS.column_names()})

    return summarised


def _means(designs: pa.Table, broker_count: int) -> dict[str, Any]:
    """Means over publications and deliveries; 0 where there are none."""
    deliveries, publications = (
        np.maximum(designs[name].to_numpy(), 1) for name in ("deliveries", "publications")
    )
    found: dict[str, Any] = {
        name: designs[name].to_numpy() / broker_count for name in (*MESSAGES, "deliveries")
    }
    sent = sum(designs[name].to_numpy() for name in MESSAGES)
    found["notification_overhead"] = sent / broker_count / publications
    for name in ("delay_hops", "delay_tree_hops"):
        found[name] = designs[name].to_numpy() / deliveries
    delay_ms = pc.divide(pc.cast(designs["delay_us"], pa.float64()), MICROSECONDS_PER_MS)
    found["delay_ms"] = pc.divide(delay_ms, pa.array(deliveries.astype(np.float64)))
    return found


def comparison(metrics: DataFrame, overlays: DataFrame, *, warmup_slots: int = 0) -> DataFrame:
    """COMPARISON over the slots after the first ones, in which everybody comes."""
    keys = ["placement", "design"]
    sides = [
        frame.groupBy(*keys) for frame in (metrics.where(sf.col("slot") >= warmup_slots), overlays)
    ]
    compared = sides[0].cogroup(sides[1]).applyInArrow(compared_slots, spark_schema(COMPARISON))
    return conform(compared, COMPARISON)


def compared_slots(slots: pa.Table, epochs: pa.Table) -> pa.Table:
    """One line; rows are added in their order, as sums of fractions depend on it."""
    slots, epochs = slots.sort_by("slot"), epochs.sort_by("epoch")
    deliveries = slots["deliveries"].to_numpy()
    delivered = float(deliveries.sum())
    row: dict[str, Any] = {name: slots[name][0].as_py() for name in ("placement", "design")}
    row |= {name: slots[name].to_numpy().sum().item() for name in ADDED}
    for name in DELAYS:
        delays = slots[name].combine_chunks()
        total = float((delays.fill_null(0.0).to_numpy() * deliveries).sum())
        row[name] = None if delays.null_count else total / delivered if delivered else 0.0
    sent = sum(row[name] for name in MESSAGES)
    row["notification_overhead"] = sent / row["publications"] if row["publications"] else 0.0
    for name in ("load_mean", "load_deviation"):
        row[name] = float(slots[name].to_numpy().mean())
    row["reconfigurations"] = int((epochs["moved"].to_numpy() > 0).sum())
    row["degree_mean"] = float(epochs["degree_mean"].to_numpy().mean())
    row["degree_max"] = int(epochs["degree_max"].to_numpy().max())
    row["k_held"] = int(epochs["k_held"].to_numpy().min())
    row["load_spread"] = float(epochs["load_spread"].to_numpy().max())
    row["pays_from"] = None if row["reconfigurations"] else pc.min(epochs["pays_from"]).as_py()
    return arrow_table(COMPARISON, [row])


def _of_placements(tables: Replayed, timeline: Timeline) -> DataFrame:
    """placement, slot, and DIFFERENCES to the slot before: what no design has a part in."""
    slot = timeline.slot_of(sf.col("time")).alias("slot")
    changed = tables.changes.groupBy("placement", slot).agg(
        sf.count("*").alias("subscription_changes")
    )
    stays = one_history("placement", "client").orderBy("time")
    moved = (
        tables.placements.withColumn("former", sf.lag("broker").over(stays))
        .where("former != broker")
        .groupBy("placement", slot)
        .agg(sf.count("*").alias("hand_overs"))
    )
    differences = [changed, moved, _loads(tables.hosted, timeline)]
    return reduce(
        lambda one, other: one.unionByName(other, allowMissingColumns=True), differences
    ).fillna(0, subset=list(DIFFERENCES))


def _loads(hosted: DataFrame, timeline: Timeline) -> DataFrame:
    """placement, slot, load, squares: what a slot's start differs from the one before.

    load: all subscriptions. squares: the squares of brokers' subscriptions, summed over brokers.
    """
    history = Window.partitionBy("placement", "broker").orderBy("slot")
    total = sf.sum("change").over(history.rowsBetween(Window.unboundedPreceding, 0))
    return (
        hosted.groupBy("placement", "broker", timeline.slot_after(sf.col("time")).alias("slot"))
        .agg(sf.sum("change").alias("change"))
        .withColumn("total", total)
        .groupBy("placement", "slot")
        .agg(
            sf.sum("change").alias("load"),
            sf.sum(sf.expr("total * total - (total - change) * (total - change)")).alias("squares"),
        )
    )
