"""Arrangement: the overlay of every epoch, one chain of them for each placement and design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from meshwright.model.identifiers import TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.replay_schema import OVERLAYS
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.pipeline.stages.replay_units import ANYWHERE
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.frames import arrow_table, conform, spark_schema
from meshwright.pipeline.tables.timeline import Timeline
from meshwright.planning.succession import EpochRules, Successor, follow, plans_ways_in

ENTERED_TYPE = "array<struct<host: int, amount: bigint>>"


def overlays(
    snapshots: DataFrame,
    brokers: Brokers,
    designs: Sequence[str],
    rules: EpochRules,
    *,
    placements: Sequence[str],
    timeline: Timeline,
    seed: int,
    entries: DataFrame | None = None,
) -> DataFrame:
    """OVERLAYS: each epoch's from the one before, so that a chain is one task and chains are many.

    One epoch of one placement must fit a machine, as planning has it in memory. entries: ENTRIES;
    who plans ways in expects them as they were in the epoch before.
    """
    chains = [(placement, design) for placement in placements for design in designs]
    numbers = {chain: number for number, chain in enumerate(chains)}
    planned = (
        _packed(snapshots, _entered(entries, brokers, timeline), brokers, placements, timeline)
        .withColumn("design", sf.explode(sf.array(*(sf.lit(design) for design in designs))))
        # A task for each chain: hashing would put some together and leave cores idle.
        .repartitionById(len(chains), _chain_number(numbers))
        .sortWithinPartitions("placement", "design", "epoch")
        .mapInArrow(_planner(brokers, rules, seed), spark_schema(OVERLAYS))
    )
    return conform(planned, OVERLAYS)


def _entered(entries: DataFrame | None, brokers: Brokers, timeline: Timeline) -> DataFrame | None:
    """placement, epoch, topic, entered: hosts and amounts of the epoch before."""
    if entries is None:
        return None
    return (
        brokers.numbered(entries, "known", how="left")
        .withColumn("host", sf.coalesce("known", sf.lit(ANYWHERE)))
        .withColumn("epoch", timeline.epoch_of(sf.col("slot")) + 1)
        .groupBy("placement", "epoch", "topic", "host")
        .agg(sf.sum("publications").alias("amount"))
        .groupBy("placement", "epoch", "topic")
        .agg(sf.collect_list(sf.struct("host", "amount")).alias("entered"))
    )


def _packed(
    snapshots: DataFrame,
    entered: DataFrame | None,
    brokers: Brokers,
    placements: Sequence[str],
    timeline: Timeline,
) -> DataFrame:
    """placement, epoch, topics: a row an epoch, with who wants each; none where nobody does.

    Topics that nobody wants and that were published are among them where it is known where.
    """
    topics = (
        brokers.numbered(snapshots, "member")
        .groupBy("placement", "epoch", "topic")
        .agg(
            sf.array_sort(sf.collect_list("member")).alias("members"),
            sf.max("publications").alias("publications"),
        )
    )
    if entered is None:
        topics = topics.withColumn("entered", sf.lit(None).cast(ENTERED_TYPE))
    else:
        amount = sf.aggregate(
            "entered", sf.lit(0).cast("bigint"), lambda sum_, one: sum_ + one.amount
        )
        topics = (
            topics.join(entered, on=["placement", "epoch", "topic"], how="full")
            .withColumn("members", sf.coalesce("members", sf.array().cast("array<int>")))
            .withColumn("publications", sf.coalesce("publications", amount.cast("double")))
            .where(sf.col("epoch") < timeline.epoch_count)
        )
    packed = topics.groupBy("placement", "epoch").agg(
        sf.array_sort(
            sf.collect_list(sf.struct("topic", "publications", "members", "entered"))
        ).alias("topics")
    )
    session = snapshots.sparkSession
    every = session.createDataFrame(
        [(placement, epoch) for placement in placements for epoch in range(timeline.epoch_count)],
        "placement string, epoch long",
    )
    return every.join(packed, on=["placement", "epoch"], how="left")


def _chain_number(numbers: dict[tuple[str, str], int]) -> Column:
    chains = sf.create_map(
        *(
            item
            for (placement, design), number in numbers.items()
            for item in (sf.lit(f"{placement} {design}"), sf.lit(number))
        )
    )
    return sf.element_at(chains, sf.concat_ws(" ", "placement", "design")).cast("int")


def _planner(
    brokers: Brokers, rules: EpochRules, seed: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def plan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        chain: tuple[str, str] | None = None
        former: Successor | None = None
        for batch in batches:
            for index in range(batch.num_rows):
                row = {name: batch.column(name)[index] for name in batch.schema.names}
                here = (row["placement"].as_py(), row["design"].as_py())
                if here != chain:
                    chain, former = here, None
                epoch = row["epoch"].as_py()
                snapshot = _snapshot(row["topics"], brokers, with_ways_in=plans_ways_in(here[1]))
                former = follow(here[1], former, snapshot, rules, seed=seed)
                yield from arrow_table(OVERLAYS, [overlay_row(*here, epoch, former)]).to_batches()

    return plan


def _snapshot(topics: Any, brokers: Brokers, *, with_ways_in: bool) -> Snapshot:
    """The arrays of one epoch; topics: a list of what _packed has of each.

    with_ways_in: publications that nobody wants count too, as they enter all the same.
    """
    packed = topics.values if topics.is_valid else pa.array([], type=topics.type.value_type)
    if not with_ways_in:
        packed = packed.filter(pc.greater(pc.list_value_length(packed.field("members")), 0))
    members = packed.field("members")
    counts = members.value_lengths().to_numpy(zero_copy_only=False)
    names = packed.field("topic").to_pylist()
    publications = packed.field("publications").to_numpy().astype(np.float64)
    return Snapshot(
        brokers=brokers.names,
        topics=tuple(TopicName(name) for name in names),
        interests=interests_from_pairs(
            members.flatten().to_numpy(),
            np.repeat(np.arange(len(names)), counts.astype(np.int64)),
            brokers.count,
            len(names),
        ),
        publications=publications,
        delays_ms=brokers.delays_ms,
        coordinates=brokers.coordinates,
        publishers=_publishers(packed.field("entered"), publications, brokers.count)
        if with_ways_in
        else None,
    )


def _publishers(entered: Any, publications: Float64Array, broker_count: int) -> Float64Array | None:
    """What is expected, shared out as it entered before; None if that is not known of any topic."""
    counts = entered.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    columns = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    hosts, amounts = (entered.flatten().field(name).to_numpy() for name in ("host", "amount"))
    is_known = hosts != ANYWHERE
    if not is_known.any():
        return None
    shares = np.zeros((broker_count, len(counts)), dtype=np.float64)
    np.add.at(shares, (hosts[is_known], columns[is_known]), amounts[is_known])
    totals = np.bincount(columns, weights=amounts, minlength=len(counts))
    totals[totals == 0.0] = 1.0
    shares += (totals - shares.sum(axis=0)) / broker_count
    shares *= publications / totals
    return shares


def overlay_row(placement: str, design: str, epoch: int, found: Successor) -> dict[str, Any]:
    """A row of OVERLAYS."""
    return {
        "placement": placement,
        "design": design,
        "epoch": epoch,
        "overlay": msgspec.json.encode(found.overlay).decode("utf-8"),
        "reconfiguration_messages": found.reconfiguration_messages,
        "moved": found.moved,
        "cost_before": None if found.plan is None else found.plan.cost.before,
        "cost_after": None if found.plan is None else found.plan.cost.after,
        "reason": found.reason,
        "degree_mean": found.evaluation.degree_mean,
        "degree_max": found.evaluation.degree_max,
        "k_held": found.evaluation.k_held,
        "load_spread": found.evaluation.load_spread,
        "pays_from": found.pays_from,
    }
