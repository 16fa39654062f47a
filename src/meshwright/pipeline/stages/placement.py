"""Placement of clients on brokers, period by period, each cluster of brokers on its own.

What a cluster's clients do depends on its own brokers alone, as who is in a cluster is decided by
homes; so clusters are worked out side by side, each by planning's kernels from the first slot on.
Slots pass by one after the other: a task has those who are in the cluster by then, and no history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.interests import Int32Array, Int64Array, interests_from_pairs
from meshwright.model.replay_schema import PLACEMENTS
from meshwright.pipeline.stages.interests import interest_spans
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.frames import conform, literal_list, numbered, one_history
from meshwright.pipeline.tables.timeline import Timeline
from meshwright.planning.placement.over_time import Asks, ClusterLife
from meshwright.planning.placement.strategies import PlacementRules

WANTED = ("client", "topic", "first", "stop")
ASKS = "cluster long, slot long, time_us long, client string, leaves boolean, topics array<string>"
CHOSEN = "placement string, client string, time_us long, seat long, cluster long"

ROWS_AT_ONCE = 200_000


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
    cluster_count = int(selection.clusters.max()) + 1
    chosen = (
        _asks(_told(interests, homes, timeline, selection), interests, timeline)
        # A number given keeps adaptive execution from putting all clusters into one task.
        .repartition(cluster_count, "cluster")
        .sortWithinPartitions("cluster", "slot", "time_us", "client")
        .mapInArrow(_chooser(selection, _network_loads(interests, timeline)), CHOSEN)
    )
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


def _asks(told: DataFrame, interests: DataFrame, timeline: Timeline) -> DataFrame:
    """Who asks in which cluster, or leaves it, and the topics that it wants at the slot's end."""
    count = max(interests.count() // ROWS_AT_ONCE, 1)
    bucket = sf.pmod(sf.xxhash64("client"), sf.lit(count)).alias("bucket")
    sides = (
        side.select("*", bucket).repartition(count, "bucket").groupBy("bucket")
        for side in (_with_farewells(told), _wants(interests, timeline))
    )
    asking, wanting = sides
    return asking.cogroup(wanting).applyInArrow(_asks_with_topics, ASKS)


def _wants(interests: DataFrame, timeline: Timeline) -> DataFrame:
    """client, topic, first, stop: what clients want at the ends of slots.

    Columns are new ones, as those of one source cannot be told apart on both sides of a group.
    """
    spans = interest_spans(interests).select(
        "client",
        "topic",
        timeline.slot_of(sf.col("begin")).alias("first"),
        sf.coalesce(timeline.slot_of(sf.col("end")), sf.lit(timeline.slot_count)).alias("stop"),
    )
    return spans.where("first < stop").select(*(sf.col(name).alias(name) for name in WANTED))


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


def _asks_with_topics(told: pa.Table, wants: pa.Table) -> pa.Table:
    """ASKS of some clients: topics that are wanted for some slots, as those of each ask in them."""
    slots = told["slot"].to_numpy().astype(np.int64)
    clients = told["client"].combine_chunks().dictionary_encode()
    wants = wants.filter(pc.is_in(wants["client"], value_set=clients.dictionary))
    numbers = clients.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    # An ask is known by its client and slot; those of a client follow each other in their order.
    width = int(max(slots.max(initial=0), pc.max(wants["stop"]).as_py() or 0)) + 1
    keys = numbers * width + slots
    order = np.argsort(keys, kind="stable")
    wanting = pc.index_in(wants["client"], value_set=clients.dictionary).to_numpy() * width
    first, stop = (
        np.searchsorted(keys[order], wanting + wants[name].to_numpy()) for name in ("first", "stop")
    )
    counts = stop - first
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    topics, columns = numbered(wants["topic"])
    interests = interests_from_pairs(
        order[np.repeat(first, counts) + steps],
        np.repeat(columns, counts),
        len(slots),
        len(topics),
    )
    names = pa.array(topics, pa.string()).take(pa.array(interests.columns))
    wanted = pa.ListArray.from_arrays(pa.array(interests.offsets.astype(np.int32)), names)
    return told.select(["cluster", "slot", "time_us", "client", "leaves"]).append_column(
        "topics", wanted
    )


def _chooser(
    selection: Selection, loads: Int64Array
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Lives of clusters, one after the other; seats number a cluster's brokers in their order."""
    sizes = np.bincount(selection.clusters)
    methods, rules, seed = selection.methods, selection.rules, selection.seed

    def lives_of(cluster: int) -> dict[str, ClusterLife]:
        return {
            method: ClusterLife(
                int(sizes[cluster]),
                method,
                np.random.default_rng([seed, cluster]),
                rules=rules,
                network_loads=loads,
            )
            for method in methods
        }

    def choose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cluster, slots in groupby(slot_by_slot(batches), key=itemgetter(0)):
            lives = lives_of(cluster)
            clients, topics = Numbering(), Numbering()
            for _, told in slots:
                asks = _asks_of(told, clients, topics)
                for method, life in lives.items():
                    yield _chosen(told, method, life.answer(asks))

    return choose


def slot_by_slot(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """Clusters with the asks of one slot after the other, wherever batches end."""
    begun: list[pa.RecordBatch] = []
    for batch in batches:
        clusters, slots = (batch[name].to_numpy() for name in ("cluster", "slot"))
        ends = np.flatnonzero((np.diff(clusters) != 0) | (np.diff(slots) != 0)) + 1
        for first, end in pairwise([0, *ends.tolist(), len(batch)]):
            piece = batch.slice(first, end - first)
            if begun and not _is_same_slot(begun[0], piece):
                yield begun[0]["cluster"][0].as_py(), pa.Table.from_batches(begun)
                begun = []
            begun += [piece] if len(piece) else []
    if begun:
        yield begun[0]["cluster"][0].as_py(), pa.Table.from_batches(begun)


def _is_same_slot(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    return not len(other) or all(one[name][0] == other[name][0] for name in ("cluster", "slot"))


class Numbering:
    """Numbers for texts, in the order in which they are first seen."""

    def __init__(self) -> None:
        self.texts = pa.array([], pa.string())

    def of(self, texts: pa.Array) -> NDArray[np.int64]:
        """The number of each text; those that are new get the next ones."""
        known = pc.index_in(texts, value_set=self.texts)
        new = texts.filter(pc.is_null(known)).unique()
        if len(new):
            self.texts = pa.concat_arrays([self.texts, new])
            known = pc.index_in(texts, value_set=self.texts)
        numbers: NDArray[np.int64] = known.to_numpy(zero_copy_only=False).astype(np.int64)
        return numbers


def _asks_of(told: pa.Table, clients: Numbering, topics: Numbering) -> Asks:
    """The asks of one slot as planning has them."""
    wanted = told["topics"].combine_chunks()
    counts = wanted.value_lengths().to_numpy(zero_copy_only=False)
    columns = topics.of(wanted.flatten())
    rows = np.repeat(np.arange(len(told)), counts)
    return Asks(
        slots=told["slot"].to_numpy().astype(np.int64),
        clients=clients.of(told["client"].combine_chunks()),
        interests=interests_from_pairs(rows, columns, len(told), len(topics.texts)),
        leaving=told["leaves"].to_numpy().astype(np.bool_),
    )


def _chosen(told: pa.Table, method: str, seats: Int32Array) -> pa.RecordBatch:
    """CHOSEN of who did not leave."""
    answer = {
        "placement": pa.repeat(method, len(told)),
        **{name: told[name].combine_chunks() for name in ("client", "time_us")},
        "seat": pa.array(seats.astype(np.int64)),
        "cluster": told["cluster"].combine_chunks(),
    }
    return pa.RecordBatch.from_pydict(answer).filter(pa.array(seats >= 0))
