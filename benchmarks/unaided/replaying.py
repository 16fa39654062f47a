"""The replay of a trace in memory, placement by placement and design by design.

Planning's own functions do what they do on Spark; all that brings rows together is written anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.unaided.reading import PlainTrace, World, read_trace
from meshwright.model.identifiers import TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.stages.rates import filtered
from meshwright.pipeline.stages.replay_units import CHANGE, PUBLISHED, SPAN, counted, replay_unit
from meshwright.planning.evaluation.evaluate import carrier_of
from meshwright.planning.placement.over_time import Asks, place_over_time
from meshwright.planning.succession import EpochRules, follow

MESSAGES = ("messages_internal", "messages_external", "messages_entry", "messages_repair")
CLIENTS_AT_ONCE = 4000


class ClusterLife(NamedTuple):
    """What happens in a cluster of brokers: who asks, as a table and as planning has it."""

    cluster: int
    rows: pd.DataFrame
    asks: Asks


def plain_messages(trace: Path, asked: pd.Series, world: World) -> dict[tuple[str, str], int]:
    """Messages of all publications, by placement and design.

    asked: the broker that every client asked first, by names.
    """
    read = read_trace(trace, asked, world)
    methods = world.wish.placement.methods or ()
    is_chosen = any(method.startswith("similarity") for method in methods)
    lives = list(_lives(read, world)) if is_chosen else []
    found: dict[tuple[str, str], int] = {}
    for placement in methods:
        changes = _broker_changes(read.spans, _stays(read, lives, placement, world))
        for design, sent in _replayed(read, changes, world).items():
            found[placement, design] = sent
    return found


def _stays(
    read: PlainTrace, lives: list[ClusterLife], placement: str, world: World
) -> pd.DataFrame:
    """client, broker, come, leave."""
    places = {"static": read.asked, "location": read.homes}.get(placement)
    if places is None:
        places = _chosen(read, lives, placement, world)
    places = places.sort_values(["client", "time"])
    places = places[places.broker != places.groupby("client").broker.shift()]
    leave = places.groupby("client").time.shift(-1)
    return places[["client", "broker"]].assign(come=places.time, leave=leave)


def _lives(read: PlainTrace, world: World) -> Iterator[ClusterLife]:
    """Every cluster's; a client asks in that of its home, and leaves the one of its last home."""
    timeline, wish = world.timeline, world.wish
    clusters = world.brokers.clusters(wish.placement.cluster_size, wish.seed)
    told = pd.concat([read.events, read.homes]).sort_values(["client", "time"])
    told["slot"] = (told.time - timeline.origin_us) // timeline.slot_us
    asks = told.groupby(["client", "slot"], as_index=False).agg({"time": "min", "broker": "last"})
    asks["broker"] = asks.groupby("client").broker.ffill()
    asks = asks.dropna(subset=["broker"])
    asks["cluster"] = clusters[asks.broker.astype(np.int64)]
    former = asks.groupby("client").cluster.shift()
    moving = former.notna() & (former != asks.cluster)
    farewells = asks[moving].assign(cluster=former[moving].astype(np.int64), leaves=True)
    spans = _slots(read.spans, world)
    spans = spans[spans["first"] < spans.stop].set_index("client")
    for cluster, here in pd.concat([asks.assign(leaves=False), farewells]).groupby("cluster"):
        rows = here.sort_values(["slot", "time", "client"]).reset_index(drop=True)
        wanting = spans[spans.index.isin(rows.client.unique())].reset_index()
        joined = rows[["client", "slot"]].reset_index().merge(wanting, on="client")
        wanted = joined[(joined["first"] <= joined.slot) & (joined.slot < joined.stop)]
        asks_here = Asks(
            rows.slot.to_numpy(),
            np.unique(rows.client, return_inverse=True)[1].astype(np.int64),
            interests_from_pairs(
                wanted["index"].to_numpy(), wanted.topic.to_numpy(), len(rows), len(read.topics)
            ),
            rows.leaves.to_numpy(),
        )
        yield ClusterLife(int(cluster), rows[["client", "time"]], asks_here)


def _chosen(read: PlainTrace, lives: list[ClusterLife], method: str, world: World) -> pd.DataFrame:
    """client, time, broker, cluster by cluster."""
    wish = world.wish
    clusters = world.brokers.clusters(wish.placement.cluster_size, wish.seed)
    slots = _slots(read.spans, world)
    changes = np.zeros(world.timeline.slot_count + 1, dtype=np.int64)
    np.add.at(changes, slots["first"], 1)
    np.add.at(changes, slots["stop"], -1)
    answers = []
    for life in lives:
        members = np.flatnonzero(clusters == life.cluster)
        seats = place_over_time(
            life.asks,
            len(members),
            method,
            np.random.default_rng([wish.seed, life.cluster]),
            rules=wish.placement.rules(),
            network_loads=np.cumsum(changes)[:-1],
        )
        answers.append(life.rows.assign(broker=members[seats])[seats >= 0])
    return pd.concat(answers)


def _slots(spans: pd.DataFrame, world: World) -> pd.DataFrame:
    """client, topic, and the slots from first to before stop at whose ends a topic is wanted."""
    timeline = world.timeline
    first, stop = (
        (spans[name] - timeline.origin_us) // timeline.slot_us for name in ("begin", "end")
    )
    stop = stop.fillna(timeline.slot_count).astype(np.int64)
    return spans[["client", "topic"]].assign(first=first, stop=stop)


def _broker_changes(spans: pd.DataFrame, stays: pd.DataFrame) -> pd.DataFrame:
    """broker, topic, time, is_on: reference counts that leave 0 or come back to it."""
    blocks = zip(
        spans.groupby(spans.client // CLIENTS_AT_ONCE),
        stays.groupby(stays.client // CLIENTS_AT_ONCE),
        strict=True,
    )
    moved = pd.concat([_hosted(wants, places) for (_, wants), (_, places) in blocks])
    netted = moved.groupby(["broker", "topic", "time"], as_index=False).change.sum()
    netted = netted[netted.change != 0]
    after = netted.groupby(["broker", "topic"]).change.cumsum()
    is_changed = (after > 0) != (after - netted.change > 0)
    return netted.assign(is_on=after > 0)[is_changed]


def _hosted(spans: pd.DataFrame, stays: pd.DataFrame) -> pd.DataFrame:
    """broker, topic, time, change: each client's wants where it stays."""
    hosted = spans.merge(stays, on="client")
    hosted = hosted[~(hosted.leave <= hosted.begin) & ~(hosted.end <= hosted.come)]
    on = hosted.assign(time=hosted[["begin", "come"]].max(axis=1), change=1)
    off = hosted.assign(time=hosted[["end", "leave"]].min(axis=1), change=-1).dropna(
        subset=["time"]
    )
    return pd.concat([on, off])[["broker", "topic", "time", "change"]]


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
