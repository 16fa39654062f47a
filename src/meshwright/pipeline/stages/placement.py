"""Placement of clients on brokers, period by period, each cluster of brokers on its own.

What a cluster's clients do depends on its own brokers alone, as who is in a cluster is decided by
homes; so clusters are worked out side by side, each by planning's kernels from the first slot on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.interests import Int32Array, Int64Array, interests_from_pairs
from meshwright.model.replay_schema import PLACEMENTS
from meshwright.pipeline.brokers import Brokers
from meshwright.pipeline.frames import conform, literal_list, numbered, one_history
from meshwright.pipeline.stages.interests import interest_spans
from meshwright.pipeline.timeline import Timeline
from meshwright.planning.placement.over_time import Asks, place_over_time
from meshwright.planning.placement.strategies import PlacementRules

WANTED = ("cluster", "client", "topic", "first", "stop")
CHOSEN = "placement string, client string, time_us long, seat long, cluster long"


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """How clients choose brokers by similarity.

    clusters: the cluster of each broker, (broker,). methods: similarity, similarity-bounded.
    """

    methods: tuple[str, ...]
    brokers: Brokers
    clusters: Int32Array
    rules: PlacementRules
    seed: int


def placed_at_homes(homes: DataFrame, placement: str) -> DataFrame:
    """PLACEMENTS on homes as they are: static for those asked by chance, location for places."""
    return conform(homes.withColumn("placement", sf.lit(placement)), PLACEMENTS)


def placed_by_similarity(
    interests: DataFrame, homes: DataFrame, timeline: Timeline, selection: Selection
) -> DataFrame:
    """PLACEMENTS chosen in the cluster of a client's home, whenever its wants or home change.

    A client asks once a slot, with what it wants at the slot's end, and goes at its first change in
    the slot. interests and homes are used several times: keep them if they are dear.
    """
    told = _told(interests, homes, timeline, selection)
    # A number given keeps adaptive execution from putting all clusters into one task.
    cluster_count = int(selection.clusters.max()) + 1
    asks, wants = (
        side.repartition(cluster_count, "cluster").groupBy("cluster")
        for side in (_with_farewells(told), _wants(told, interests, timeline))
    )
    chooser = _chooser(selection, _network_loads(interests, timeline))
    chosen = asks.cogroup(wants).applyInArrow(chooser, CHOSEN)
    members = np.argsort(selection.clusters, kind="stable")
    starts = np.searchsorted(selection.clusters[members], np.arange(cluster_count))
    first_seats = literal_list(starts.tolist()).cast("array<long>")
    seated = sf.element_at(first_seats, sf.col("cluster").cast("int") + 1)
    ordered = Brokers(tuple(selection.brokers.names[number] for number in members.tolist()))
    stays = one_history("placement", "client").orderBy("time")
    moved = (
        chosen.withColumn("broker", ordered.name_of(seated + sf.col("seat")))
        .withColumn("time", sf.timestamp_micros("time_us"))
        .withColumn("former", sf.lag("broker").over(stays))
        .where("former is null or former != broker")
    )
    return conform(moved, PLACEMENTS)


def _told(
    interests: DataFrame, homes: DataFrame, timeline: Timeline, selection: Selection
) -> DataFrame:
    """client, slot, time_us, cluster, former: who asks in which cluster, and where it was."""
    slot = timeline.slot_of(sf.col("time"))
    nowhere = sf.lit(None).cast("string")
    told = (
        interests.select("client", "time", nowhere.alias("broker"))
        .unionByName(homes.select("client", "time", "broker"))
        .groupBy("client", slot.alias("slot"))
        .agg(
            sf.min(sf.unix_micros("time")).alias("time_us"),
            sf.max_by("broker", sf.when(sf.col("broker").isNotNull(), sf.col("time"))).alias(
                "home"
            ),
        )
    )
    journey = Window.partitionBy("client").orderBy("slot")
    homed = told.withColumn("broker", sf.last("home", ignorenulls=True).over(journey))
    clusters = literal_list(selection.clusters.tolist()).cast("array<long>")
    return (
        selection.brokers.numbered(homed)
        .withColumn("cluster", sf.element_at(clusters, sf.col("number") + 1))
        .withColumn("former", sf.lag("cluster").over(journey))
    )


def _with_farewells(told: DataFrame) -> DataFrame:
    """cluster, slot, time_us, client, leaves: asks, and words to clusters that clients leave."""
    farewell = sf.when(
        sf.expr("former != cluster"),
        sf.struct(sf.col("former").alias("cluster"), sf.lit(True).alias("leaves")),
    )
    here = sf.struct(sf.col("cluster"), sf.lit(False).alias("leaves"))
    return told.withColumn("word", sf.explode(sf.array_compact(sf.array(here, farewell)))).select(
        "word.cluster", "slot", "time_us", "client", "word.leaves"
    )


def _wants(told: DataFrame, interests: DataFrame, timeline: Timeline) -> DataFrame:
    """cluster, client, topic, first, stop: what clients of a cluster want at the ends of slots.

    Columns are new ones, as those of one source cannot be told apart on both sides of a group.
    """
    spans = interest_spans(interests).select(
        "client",
        "topic",
        timeline.slot_of(sf.col("begin")).alias("first"),
        sf.coalesce(timeline.slot_of(sf.col("end")), sf.lit(timeline.slot_count)).alias("stop"),
    )
    clients = told.select("cluster", "client").distinct()
    return (
        spans.where("first < stop")
        .join(clients, on="client", how="inner")
        .select(*(sf.col(name).alias(name) for name in WANTED))
    )


def _network_loads(interests: DataFrame, timeline: Timeline) -> Int64Array:
    """Subscriptions of all clients at the end of every slot: (slot,). One small row a slot."""
    changes = (
        interests.groupBy(timeline.slot_of(sf.col("time")).alias("slot"))
        .agg(sf.sum(sf.expr("if(is_on, 1, -1)")).alias("change"))
        .toArrow()
    )
    loads = np.zeros(timeline.slot_count, dtype=np.int64)
    loads[changes["slot"].to_numpy()] = changes["change"].to_numpy()
    return np.cumsum(loads)


def _chooser(selection: Selection, loads: Int64Array) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """The life of one cluster; seats number its brokers in their order."""
    sizes = np.bincount(selection.clusters)
    methods, rules, seed = selection.methods, selection.rules, selection.seed

    def choose(told: pa.Table, wants: pa.Table) -> pa.Table:
        cluster = told["cluster"][0].as_py()
        ordered = told.sort_by(
            [("slot", "ascending"), ("time_us", "ascending"), ("client", "ascending")]
        )
        asks = _asks_of(ordered, wants)
        answers = []
        for method in methods:
            seats = place_over_time(
                asks,
                int(sizes[cluster]),
                method,
                np.random.default_rng([seed, cluster]),
                rules=rules,
                network_loads=loads,
            )
            answer = {
                "placement": pa.repeat(method, len(seats)),
                **{name: ordered[name] for name in ("client", "time_us")},
                "seat": pa.array(seats.astype(np.int64)),
                "cluster": ordered["cluster"],
            }
            answers.append(pa.table(answer).filter(pa.array(seats >= 0)))
        return pa.concat_tables(answers)

    return choose


def _asks_of(ordered: pa.Table, wants: pa.Table) -> Asks:
    """Names as numbers, and what is wanted for some slots as what each ask in them wants."""
    slots = ordered["slot"].to_numpy().astype(np.int64)
    clients = ordered["client"].combine_chunks().dictionary_encode()
    numbers = clients.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    # An ask is known by its client and slot; those of a client follow each other in their order.
    width = int(max(slots.max(), pc.max(wants["stop"]).as_py() or 0)) + 1
    keys = numbers * width + slots
    order = np.argsort(keys)
    wanting = pc.index_in(wants["client"], value_set=clients.dictionary).to_numpy() * width
    first, stop = (
        np.searchsorted(keys[order], wanting + wants[name].to_numpy()) for name in ("first", "stop")
    )
    counts = stop - first
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    topics, columns = numbered(wants["topic"])
    return Asks(
        slots=slots,
        clients=numbers,
        interests=interests_from_pairs(
            order[np.repeat(first, counts) + steps],
            np.repeat(columns, counts),
            len(slots),
            len(topics),
        ),
        leaving=ordered["leaves"].to_numpy().astype(np.bool_),
    )
