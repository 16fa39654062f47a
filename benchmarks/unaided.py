"""The replay of a subscribing trace in one process with pandas and NumPy: what Spark adds to it.

Planning's own functions do what they do on Spark; all that brings rows together is written anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from meshwright.model.identifiers import TopicName
from meshwright.model.interests import Int64Array, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.brokers import Brokers
from meshwright.pipeline.parameters import ReplayParameters
from meshwright.pipeline.stages.rates import filtered
from meshwright.pipeline.stages.replay_units import CHANGE, PUBLISHED, SPAN, counted, replay_unit
from meshwright.pipeline.timeline import Timeline
from meshwright.planning.evaluation.evaluate import carrier_of
from meshwright.planning.placement.over_time import Asks, place_over_time
from meshwright.planning.succession import EpochRules, follow

MESSAGES = ("messages_internal", "messages_external", "messages_entry", "messages_repair")


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """What a replay is about beside its trace."""

    brokers: Brokers
    timeline: Timeline
    wish: ReplayParameters


@dataclass(frozen=True, slots=True, eq=False)
class PlainTrace:
    """A trace in memory; clients, topics and brokers are numbers.

    spans: client, topic, begin, end of interests. events: client and time of every change.
    homes: (client,). publications: (topic, slot).
    """

    spans: pd.DataFrame
    events: pd.DataFrame
    homes: Int64Array
    topics: list[str]
    publications: Int64Array


def plain_messages(trace: Path, homes: pd.Series, world: World) -> dict[tuple[str, str], int]:
    """Messages of all publications, by placement and design.

    homes: the first broker of every client, by name.
    """
    read = _read(trace, homes, world)
    found: dict[tuple[str, str], int] = {}
    for placement in world.wish.placement.methods or ():
        stays = _stays(read, placement, world)
        changes = _broker_changes(read.spans, stays)
        for design, sent in _replayed(read, changes, world).items():
            found[placement, design] = sent
    return found


def _read(trace: Path, homes: pd.Series, world: World) -> PlainTrace:
    timeline = world.timeline
    rows = pd.read_parquet(trace / "subscriptions")
    clients, rows["client"] = np.unique(rows["client"], return_inverse=True)
    published = pd.read_parquet(trace / "publications", columns=["time", "topic"])
    topics = sorted({*rows["topic"].unique(), *published["topic"].unique()})
    rows["topic"] = pd.Categorical(rows["topic"], topics).codes
    rows["time"] = _microseconds(rows["time"])
    keys = ["client", "topic", "time"]
    rows = rows.groupby(keys, sort=True, as_index=False).is_on.max()
    former = rows.groupby(["client", "topic"]).is_on.shift(fill_value=False)
    events = rows[rows.is_on != former]
    ends = events.groupby(["client", "topic"]).time.shift(-1)
    spans = events.assign(begin=events.time, end=ends)[events.is_on]
    counts = np.zeros((len(topics), timeline.slot_count), dtype=np.int64)
    slots = (_microseconds(published["time"]) - timeline.origin_us) // timeline.slot_us
    np.add.at(counts, (pd.Categorical(published["topic"], topics).codes, slots), 1)
    numbers = pd.Categorical(homes[clients], list(world.brokers.names)).codes.astype(np.int64)
    return PlainTrace(
        spans[["client", "topic", "begin", "end"]],
        events[["client", "time"]],
        numbers,
        topics,
        counts,
    )


def _stays(read: PlainTrace, placement: str, world: World) -> pd.DataFrame:
    """client, broker, come, leave."""
    timeline = world.timeline
    asks = read.events.assign(slot=(read.events.time - timeline.origin_us) // timeline.slot_us)
    asks = asks.groupby(["client", "slot"], as_index=False).time.min()
    asks["broker"] = read.homes[asks.client]
    if placement == "static":
        asks = asks.groupby("client", as_index=False).first()
    else:
        asks = _chosen(read, asks, placement, world)
    asks = asks.sort_values(["client", "time"])
    asks = asks[asks.broker != asks.groupby("client").broker.shift()]
    leave = asks.groupby("client").time.shift(-1)
    return asks.rename(columns={"time": "come"}).assign(leave=leave).drop(columns="slot")


def _chosen(read: PlainTrace, asks: pd.DataFrame, method: str, world: World) -> pd.DataFrame:
    """Cluster by cluster, as homes never change here."""
    timeline, wish = world.timeline, world.wish
    clusters = world.brokers.clusters(wish.placement.cluster_size, wish.seed)
    spans = read.spans.assign(
        first=(read.spans.begin - timeline.origin_us) // timeline.slot_us,
        stop=((read.spans.end - timeline.origin_us) // timeline.slot_us).fillna(
            timeline.slot_count
        ),
    )
    changes = np.zeros(timeline.slot_count + 1, dtype=np.int64)
    np.add.at(changes, spans["first"], 1)
    np.add.at(changes, spans["stop"].astype(int), -1)
    answers = []
    for cluster, here in asks.groupby(clusters[asks.broker]):
        ordered = here.sort_values(["slot", "time", "client"]).reset_index(drop=True)
        joined = ordered[["client", "slot"]].reset_index().merge(spans, on="client")
        wanted = joined[(joined["first"] <= joined.slot) & (joined.slot < joined.stop)]
        told = Asks(
            ordered.slot.to_numpy(),
            np.unique(ordered.client, return_inverse=True)[1].astype(np.int64),
            interests_from_pairs(
                wanted["index"].to_numpy(), wanted.topic.to_numpy(), len(ordered), len(read.topics)
            ),
            np.zeros(len(ordered), dtype=np.bool_),
        )
        members = np.flatnonzero(clusters == cluster)
        seats = place_over_time(
            told,
            len(members),
            method,
            np.random.default_rng([wish.seed, cluster]),
            rules=wish.placement.rules(),
            network_loads=np.cumsum(changes)[:-1],
        )
        answers.append(ordered.assign(broker=members[seats]))
    return pd.concat(answers)


def _broker_changes(spans: pd.DataFrame, stays: pd.DataFrame) -> pd.DataFrame:
    """broker, topic, time, is_on: reference counts that leave 0 or come back to it."""
    hosted = spans.merge(stays, on="client")
    hosted = hosted[
        ~(hosted.leave <= hosted.begin).fillna(False) & ~(hosted.end <= hosted.come).fillna(False)
    ]
    on = hosted.assign(time=hosted[["begin", "come"]].max(axis=1), change=1)
    off = hosted.assign(time=hosted[["end", "leave"]].min(axis=1), change=-1).dropna(
        subset=["time"]
    )
    moved = pd.concat([on, off])[["broker", "topic", "time", "change"]]
    netted = moved.groupby(["broker", "topic", "time"], as_index=False).change.sum()
    netted = netted[netted.change != 0]
    after = netted.groupby(["broker", "topic"]).change.cumsum()
    is_changed = (after > 0) != (after - netted.change > 0)
    return netted.assign(is_on=after > 0)[is_changed]


def _replayed(read: PlainTrace, changes: pd.DataFrame, world: World) -> dict[str, int]:
    """Messages of all publications under each design."""
    timeline, wish = world.timeline, world.wish
    after = -((timeline.origin_us - changes.time) // timeline.slot_us).astype(np.int64)
    stop = after.groupby([changes.broker, changes.topic]).shift(-1, fill_value=timeline.slot_count)
    runs = changes.assign(first=after, stop=stop)[changes.is_on & (after < stop)]
    slots = ((changes.time - timeline.origin_us) // timeline.slot_us).astype(np.int64)
    happened = changes.assign(slot=slots)
    rates = filtered(read.publications.astype(np.float64), wish.publications.alpha)
    rules = EpochRules(
        k=wish.overlay.k, delay_weight=wish.overlay.delay_weight, beta=wish.overlay.beta
    )
    designs = wish.overlay.designs or ()
    sent = dict.fromkeys(designs, 0)
    former: dict[str, Overlay] = {}
    for epoch in range(timeline.epoch_count):
        begin = epoch * timeline.epoch_slots
        end = min(begin + timeline.epoch_slots, timeline.slot_count)
        snapshot = _snapshot(read, runs, rates, begin, world)
        events = _events(read, runs, happened, begin, end)
        unit = replay_unit(events, world.brokers, begin, end - begin)
        for design in designs:
            found = follow(
                design, former.get(design), snapshot, rules, seed=wish.seed + epoch
            ).overlay
            former[design] = found
            counts = counted(unit, carrier_of(found, unit.snapshot))
            sent[design] += sum(value or 0 for name in MESSAGES for value in counts[name])
    return sent


def _snapshot(
    read: PlainTrace, runs: pd.DataFrame, rates: np.ndarray, begin: int, world: World
) -> Snapshot:
    """What brokers want as an epoch begins; topics that nobody wants are left out."""
    brokers, slots = world.brokers, world.timeline.epoch_slots
    standing = runs[(runs["first"] <= begin) & (begin < runs.stop)]
    present, columns = np.unique(standing.topic.to_numpy(), return_inverse=True)
    expected = rates[present, begin - 1] * slots if begin else np.zeros(len(present))
    return Snapshot(
        brokers=brokers.names,
        topics=tuple(TopicName(read.topics[topic]) for topic in present),
        interests=interests_from_pairs(
            standing.broker.to_numpy(), columns, brokers.count, len(present)
        ),
        publications=expected,
        delays_ms=brokers.delays_ms,
        coordinates=brokers.coordinates,
    )


def _events(
    read: PlainTrace, runs: pd.DataFrame, happened: pd.DataFrame, begin: int, end: int
) -> pa.Table:
    """All that replay_unit wants to know of an epoch."""
    spans = runs[(runs["first"] < end) & (runs.stop > begin)]
    changes = happened[(happened.slot >= begin) & (happened.slot < end)]
    topics, slots = np.nonzero(read.publications[:, begin:end])
    published = read.publications[topics, slots + begin]
    parts = [
        (SPAN, spans.topic, spans.broker, spans["first"].clip(begin), spans.stop.clip(upper=end)),
        (CHANGE, changes.topic, changes.broker, changes.slot, np.zeros(len(changes))),
        (PUBLISHED, topics, np.zeros(len(topics)), slots + begin, published),
    ]
    columns = [np.concatenate([np.asarray(part[place]) for part in parts]) for place in range(1, 5)]
    kinds = np.concatenate([np.full(len(part[1]), part[0]) for part in parts])
    numbers = {
        name: column.astype(np.int64)
        for name, column in zip(("broker", "first", "second"), columns[1:], strict=True)
    }
    names = np.array(read.topics, dtype=object)[columns[0].astype(np.int64)]
    return pa.table({"kind": kinds, "topic": names, **numbers})


def _microseconds(times: pd.Series) -> Int64Array:
    counted_us: Int64Array = times.to_numpy("datetime64[us]").astype(np.int64)
    return counted_us
