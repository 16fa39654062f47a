"""Metrics by slot, and the comparison of placements and designs over all slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import COMPARISON, METRICS
from meshwright.pipeline.frames import arrow_table, conform, spark_schema
from meshwright.pipeline.timeline import Timeline

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
)
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

    All sums are of whole numbers, so that they do not depend on their order.
    """
    sums = tables.replayed.groupBy("placement", "design", "slot").agg(
        *(sf.sum(name).alias(name) for name in (*SUMS, "management_messages"))
    )
    of_placements = _placement_metrics(tables, timeline, broker_count)
    exchanged = _by_placement(exchange_messages)
    begun = tables.overlays.select(
        "placement",
        "design",
        (sf.col("epoch") * timeline.epoch_slots).alias("slot"),
        "reconfiguration_messages",
    )
    joined = (
        sums.join(of_placements, on=["placement", "slot"], how="inner")
        .join(begun, on=["placement", "design", "slot"], how="left")
        .fillna(0.0, subset=["reconfiguration_messages"])
        .select(
            "placement",
            "design",
            "slot",
            "publications",
            "subscription_changes",
            "hand_overs",
            "load_mean",
            "load_deviation",
            "reconfiguration_messages",
            (sf.col("management_messages") + exchanged).alias("management_messages"),
            *_means(broker_count),
        )
    )
    return conform(joined, METRICS)


def comparison(metrics: DataFrame, overlays: DataFrame, *, warmup_slots: int = 0) -> DataFrame:
    """COMPARISON over the slots after the first ones, in which everybody comes."""
    keys = ["placement", "design"]
    sides = [
        frame.groupBy(*keys) for frame in (metrics.where(sf.col("slot") >= warmup_slots), overlays)
    ]
    compared = sides[0].cogroup(sides[1]).applyInArrow(_compared, spark_schema(COMPARISON))
    return conform(compared, COMPARISON)


def _compared(slots: pa.Table, epochs: pa.Table) -> pa.Table:
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
    return arrow_table(COMPARISON, [row])


def _means(broker_count: int) -> list[Column]:
    """From sums over publishers to means."""
    delivered, published = sf.col("deliveries"), sf.col("publications")
    sent = sum((sf.col(name) for name in MESSAGES), sf.lit(0)) / broker_count
    delays = {
        "delay_hops": sf.col("delay_hops"),
        "delay_tree_hops": sf.col("delay_tree_hops"),
        "delay_ms": sf.col("delay_us") / MICROSECONDS_PER_MS,
    }
    return [
        *((sf.col(name) / broker_count).alias(name) for name in (*MESSAGES, "deliveries")),
        *(_share(delay, delivered).alias(name) for name, delay in delays.items()),
        _share(sent, published).alias("notification_overhead"),
    ]


def _share(part: Column, whole: Column) -> Column:
    """A mean that is 0 where there is nothing to take it over."""
    return part / sf.greatest(whole, sf.lit(1))


def _placement_metrics(tables: Replayed, timeline: Timeline, broker_count: int) -> DataFrame:
    """placement, slot and what does not depend on the design; a row for every slot."""
    slot = timeline.slot_of(sf.col("time")).alias("slot")
    changed = tables.changes.groupBy("placement", slot).agg(
        sf.count("*").alias("subscription_changes")
    )
    stays = Window.partitionBy("placement", "client").orderBy("time")
    moved = (
        tables.placements.withColumn("former", sf.lag("broker").over(stays))
        .where("former != broker")
        .groupBy("placement", slot)
        .agg(sf.count("*").alias("hand_overs"))
    )
    last = timeline.slot_count - 1
    slots = sf.explode(sf.sequence(*(sf.lit(slot).cast("long") for slot in (0, last))))
    return (
        tables.overlays.select("placement")
        .distinct()
        .select("placement", slots.alias("slot"))
        .join(changed, on=["placement", "slot"], how="left")
        .join(moved, on=["placement", "slot"], how="left")
        .join(_loads(tables.hosted, timeline), on=["placement", "slot"], how="left")
        .fillna(0, subset=["subscription_changes", "hand_overs", "load", "squares"])
        .transform(lambda frame: _with_deviation(frame, broker_count))
    )


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


def _with_deviation(frame: DataFrame, broker_count: int) -> DataFrame:
    """The standard deviation from sums and sums of squares, both whole numbers."""
    so_far = (
        Window.partitionBy("placement").orderBy("slot").rowsBetween(Window.unboundedPreceding, 0)
    )
    load, squares = (sf.sum(name).over(so_far) for name in ("load", "squares"))
    variance = (squares * broker_count - load * load) / (broker_count * broker_count)
    return frame.withColumns(
        {"load_mean": load / broker_count, "load_deviation": sf.sqrt(variance)}
    )


def _by_placement(amounts: Mapping[str, int]) -> Column:
    pairs = sf.create_map(*(sf.lit(item) for pair in amounts.items() for item in pair))
    return sf.coalesce(sf.element_at(pairs, sf.col("placement")), sf.lit(0))
