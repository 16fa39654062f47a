"""Placement of clients on brokers, period by period, each cluster of brokers on its own.

What a cluster's clients do depends on its own brokers alone, as who is in a cluster is decided by
homes; so clusters are worked out side by side, each by planning's kernels from the first slot on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.interests import Int32Array, Int64Array, Interests
from meshwright.model.replay_schema import PLACEMENTS
from meshwright.pipeline.brokers import Brokers
from meshwright.pipeline.frames import conform
from meshwright.pipeline.stages.interests import interest_spans
from meshwright.pipeline.timeline import Timeline
from meshwright.planning.placement.over_time import Asks, place_over_time
from meshwright.planning.placement.strategies import PlacementRules

CHOSEN = "client string, time_us long, seat long, cluster long"


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """How clients choose brokers by similarity.

    clusters: the cluster of each broker, (broker,). method: similarity or similarity-bounded.
    """

    method: str
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
    the slot. interests and homes are both used twice: keep them if they are dear.
    """
    asks = _asks(interests, homes, timeline, selection)
    loads = _network_loads(interests, timeline)
    # A number given keeps adaptive execution from putting all clusters into one task.
    cluster_count = int(selection.clusters.max()) + 1
    chosen = (
        asks.repartition(cluster_count, "cluster")
        .groupBy("cluster")
        .applyInArrow(_chooser(selection, loads), CHOSEN)
    )
    members = np.argsort(selection.clusters, kind="stable")
    starts = np.searchsorted(selection.clusters[members], np.arange(cluster_count))
    first_seats = sf.array(*(sf.lit(int(start)) for start in starts))
    seated = sf.element_at(first_seats, sf.col("cluster").cast("int") + 1)
    ordered = Brokers(tuple(selection.brokers.names[number] for number in members.tolist()))
    stays = Window.partitionBy("client").orderBy("time")
    moved = (
        chosen.withColumn("broker", ordered.name_of(seated + sf.col("seat")))
        .withColumn("time", sf.timestamp_micros("time_us"))
        .withColumn("former", sf.lag("broker").over(stays))
        .where("former is null or former != broker")
        .withColumn("placement", sf.lit(selection.method))
    )
    return conform(moved, PLACEMENTS)


def _asks(
    interests: DataFrame, homes: DataFrame, timeline: Timeline, selection: Selection
) -> DataFrame:
    """cluster, slot, time_us, client, leaves, topics: who asks where and who goes away.

    topics are those at the end of the slot, in order.
    """
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
    homed = told.withColumn(
        "cluster",
        _cluster_of(sf.last("home", ignorenulls=True).over(journey), selection),
    ).withColumn("former", sf.lag("cluster").over(journey))
    return _with_farewells(_with_topics(homed, interests, timeline))


def _with_topics(told: DataFrame, interests: DataFrame, timeline: Timeline) -> DataFrame:
    """What each asking client wants at the end of the slot."""
    spans = interest_spans(interests).select(
        "client",
        "topic",
        timeline.slot_of(sf.col("begin")).alias("first"),
        sf.coalesce(timeline.slot_of(sf.col("end")), sf.lit(timeline.slot_count)).alias("stop"),
    )
    wanted = told.join(spans, on="client", how="left").where("first is null or stop > first")
    topic = sf.when(sf.expr("first <= slot and slot < stop"), sf.col("topic"))
    return wanted.groupBy("client", "slot", "time_us", "cluster", "former").agg(
        sf.array_sort(sf.collect_list(topic)).alias("topics")
    )


def _with_farewells(asks: DataFrame) -> DataFrame:
    """Beside every ask in another cluster than before, a word to the former one."""
    farewell = sf.when(
        sf.expr("former != cluster"),
        sf.struct(sf.col("former").alias("cluster"), sf.lit(True).alias("leaves")),
    )
    here = sf.struct(sf.col("cluster"), sf.lit(False).alias("leaves"))
    return asks.withColumn("word", sf.explode(sf.array_compact(sf.array(here, farewell)))).select(
        "word.cluster", "slot", "time_us", "client", "word.leaves", "topics"
    )


def _cluster_of(broker: Column, selection: Selection) -> Column:
    pairs = zip(selection.brokers.names, selection.clusters.tolist(), strict=True)
    clusters = sf.create_map(*(sf.lit(item) for pair in pairs for item in pair))
    return sf.element_at(clusters, broker).cast("long")


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


def _chooser(selection: Selection, loads: Int64Array) -> Callable[[pa.Table], pa.Table]:
    """The life of one cluster; seats number its brokers in their order."""
    sizes = np.bincount(selection.clusters)
    method, rules, seed = selection.method, selection.rules, selection.seed

    def choose(asks: pa.Table) -> pa.Table:
        cluster = asks["cluster"][0].as_py()
        ordered = asks.sort_by(
            [("slot", "ascending"), ("time_us", "ascending"), ("client", "ascending")]
        )
        seats = place_over_time(
            _asks_of(ordered),
            int(sizes[cluster]),
            method,
            np.random.default_rng([seed, cluster]),
            rules=rules,
            network_loads=loads,
        )
        chosen = ordered.select(["client", "time_us"]).append_column(
            "seat", pa.array(seats.astype(np.int64))
        )
        chosen = chosen.append_column("cluster", ordered["cluster"])
        return chosen.filter(pa.array(seats >= 0))

    return choose


def _asks_of(ordered: pa.Table) -> Asks:
    """Names as numbers, lists as rows."""
    clients = ordered["client"].combine_chunks().dictionary_encode()
    lists = ordered["topics"].combine_chunks()
    topics = lists.flatten().dictionary_encode()
    counts = np.diff(lists.offsets.to_numpy())
    rows = np.repeat(np.arange(len(counts)), counts)
    columns = topics.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    order = np.lexsort((columns, rows))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Asks(
        slots=ordered["slot"].to_numpy().astype(np.int64),
        clients=clients.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        interests=Interests(len(topics.dictionary), offsets, columns[order]),
        leaving=ordered["leaves"].to_numpy(zero_copy_only=False).astype(np.bool_),
    )
