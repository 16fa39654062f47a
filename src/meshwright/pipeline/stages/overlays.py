"""Arrangement: the overlay of every epoch, one chain of them for each placement and design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from meshwright.model.identifiers import TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.replay_schema import OVERLAYS
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.frames import arrow_table, conform, spark_schema
from meshwright.planning.succession import EpochRules, Successor, follow


def overlays(
    snapshots: DataFrame,
    brokers: Brokers,
    designs: Sequence[str],
    rules: EpochRules,
    *,
    placements: Sequence[str],
    epoch_count: int,
    seed: int,
) -> DataFrame:
    """OVERLAYS: each epoch's from the one before, so that a chain is one task and chains are many.

    One epoch of one placement must fit a machine, as planning has it in memory.
    """
    chains = [(placement, design) for placement in placements for design in designs]
    numbers = {chain: number for number, chain in enumerate(chains)}
    planned = (
        _packed(snapshots, brokers, placements, epoch_count)
        .withColumn("design", sf.explode(sf.array(*(sf.lit(design) for design in designs))))
        # A task for each chain: hashing would put some together and leave cores idle.
        .repartitionById(len(chains), _chain_number(numbers))
        .sortWithinPartitions("placement", "design", "epoch")
        .mapInArrow(_planner(brokers, rules, seed), spark_schema(OVERLAYS))
    )
    return conform(planned, OVERLAYS)


def _packed(
    snapshots: DataFrame, brokers: Brokers, placements: Sequence[str], epoch_count: int
) -> DataFrame:
    """placement, epoch, topics: a row an epoch, with who wants each; none where nobody does."""
    topics = (
        brokers.numbered(snapshots, "member")
        .groupBy("placement", "epoch", "topic")
        .agg(
            sf.array_sort(sf.collect_list("member")).alias("members"),
            sf.max("publications").alias("publications"),
        )
        .groupBy("placement", "epoch")
        .agg(
            sf.array_sort(sf.collect_list(sf.struct("topic", "publications", "members"))).alias(
                "topics"
            )
        )
    )
    session = snapshots.sparkSession
    every = session.createDataFrame(
        [(placement, epoch) for placement in placements for epoch in range(epoch_count)],
        "placement string, epoch long",
    )
    return every.join(topics, on=["placement", "epoch"], how="left")


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
                snapshot = _snapshot(row["topics"], brokers)
                former = follow(here[1], former, snapshot, rules, seed=seed)
                yield from arrow_table(OVERLAYS, [overlay_row(*here, epoch, former)]).to_batches()

    return plan


def _snapshot(topics: Any, brokers: Brokers) -> Snapshot:
    """The arrays of one epoch; topics: a list of topic, publications and members."""
    packed = topics.values if topics.is_valid else pa.array([], type=topics.type.value_type)
    members = packed.field("members")
    counts = members.value_lengths().to_numpy(zero_copy_only=False)
    names = packed.field("topic").to_pylist()
    return Snapshot(
        brokers=brokers.names,
        topics=tuple(TopicName(name) for name in names),
        interests=interests_from_pairs(
            members.flatten().to_numpy(),
            np.repeat(np.arange(len(names)), counts.astype(np.int64)),
            brokers.count,
            len(names),
        ),
        publications=packed.field("publications").to_numpy().astype(np.float64),
        delays_ms=brokers.delays_ms,
        coordinates=brokers.coordinates,
    )


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
