"""The replay of a trace in memory, placement by placement and design by design.

Planning's own functions do what they do on Spark; all that brings rows together is written anew.
Publications enter at any broker alike, as in the papers: `publications.placed` is false for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from meshwright.lab.replays.reading import PlainTrace, read_trace, tables_of_model
from meshwright.model.identifiers import TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.replay_schema import OVERLAYS
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.replays.parameters import ReplayParameters
from meshwright.pipeline.stages.metrics import DIFFERENCES, compared_slots, summary_of_slots
from meshwright.pipeline.stages.overlays import overlay_row
from meshwright.pipeline.stages.replay_units import (
    ANYWHERE,
    CHANGE,
    PUBLISHED,
    SPAN,
    counted,
    replay_unit,
)
from meshwright.pipeline.tables.frames import arrow_table
from meshwright.planning.evaluation.evaluate import carrier_of
from meshwright.planning.placement.clusters import exchange_messages
from meshwright.planning.placement.over_time import Asks, place_over_time
from meshwright.planning.succession import Successor, follow

CLIENTS_AT_ONCE = 4000

Pair = tuple[str, str]


class ClusterLife(NamedTuple):
    """What happens in a cluster of brokers: who asks, as a table and as planning has it."""

    cluster: int
    rows: pd.DataFrame
    asks: Asks


@dataclass(frozen=True, slots=True, eq=False)
class PlainReplay:
    """The tables that a replay ends with, as model/replay_schema.py describes them."""

    overlays: pd.DataFrame
    metrics: pd.DataFrame
    comparison: pd.DataFrame


def model_replay(
    model: PoissonParameters | LocationParameters,
    wish: ReplayParameters,
    pairs: Sequence[Pair] | None = None,
) -> PlainReplay:
    """A generated trace replayed; pairs: placements with designs, or else each with each."""
    return plain_replay(read_trace(tables_of_model(model), wish), wish, pairs)


def plain_replay(
    read: PlainTrace, wish: ReplayParameters, pairs: Sequence[Pair] | None = None
) -> PlainReplay:
    """A trace in memory replayed; where there are no pairs, parameters name what they are of."""
    if pairs is None:
        every = wish.overlay.designs or ()
        pairs = [(name, design) for name in wish.placement.methods or () for design in every]
    placements = list(dict.fromkeys(placement for placement, _ in pairs))
    is_chosen = any(placement.startswith("similarity") for placement in placements)
    lives = list(_lives(read, wish)) if is_chosen else []
    overlays, metrics, compared = [], [], []
    for placement in placements:
        stays = _stays(read, lives, placement, wish)
        hosted = _hosted_changes(read.spans, stays)
        changes = _broker_changes(hosted)
        differences = _differences(read, stays, hosted, changes)
        designs = [design for name, design in pairs if name == placement]
        chains = _replayed(read, changes, placement, designs, wish)
        exchanged = {}
        if placement.startswith("similarity"):
            clusters = read.brokers.clusters(wish.placement.cluster_size, wish.seed)
            exchanged[placement] = exchange_messages(clusters)
        summary = summary_of_slots(read.timeline.slot_count, read.brokers.count, exchanged)
        for epochs, slots in chains:
            overlays.append(epochs)
            metrics.append(summary(slots, differences))
            after = metrics[-1].slice(wish.time.warmup_slots)
            compared.append(compared_slots(after, epochs))
    return PlainReplay(
        *(pa.concat_tables(found).to_pandas() for found in (overlays, metrics, compared))
    )


def _stays(
    read: PlainTrace, lives: list[ClusterLife], placement: str, wish: ReplayParameters
) -> pd.DataFrame:
    """client, broker, come, leave."""
    places = read.places.get(placement)
    if places is None:
        places = _chosen(read, lives, placement, wish)
    places = places.sort_values(["client", "time"])
    places = places[places.broker != places.groupby("client").broker.shift()]
    leave = places.groupby("client").time.shift(-1)
    return places[["client", "broker"]].assign(come=places.time, leave=leave)


def _lives(read: PlainTrace, wish: ReplayParameters) -> Iterator[ClusterLife]:
    """Every cluster's; a client asks in that of its home, and leaves the one of its last home."""
    timeline = read.timeline
    clusters = read.brokers.clusters(wish.placement.cluster_size, wish.seed)
    told = pd.concat([read.events, read.homes]).sort_values(["client", "time"])
    told["slot"] = (told.time - timeline.origin_us) // timeline.slot_us
    asks = told.groupby(["client", "slot"], as_index=False).agg({"time": "min", "broker": "last"})
    asks["broker"] = asks.groupby("client").broker.ffill()
    asks = asks.dropna(subset=["broker"])
    asks["cluster"] = clusters[asks.broker.astype(np.int64)]
    former = asks.groupby("client").cluster.shift()
    moving = former.notna() & (former != asks.cluster)
    farewells = asks[moving].assign(cluster=former[moving].astype(np.int64), leaves=True)
    spans = _slots(read)
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


def _chosen(
    read: PlainTrace, lives: list[ClusterLife], method: str, wish: ReplayParameters
) -> pd.DataFrame:
    """client, time, broker, cluster by cluster."""
    clusters = read.brokers.clusters(wish.placement.cluster_size, wish.seed)
    slots = _slots(read)
    changes = np.zeros(read.timeline.slot_count + 1, dtype=np.int64)
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


def _slots(read: PlainTrace) -> pd.DataFrame:
    """client, topic, and the slots from first to before stop at whose ends a topic is wanted."""
    spans, timeline = read.spans, read.timeline
    first, stop = (
        (spans[name] - timeline.origin_us) // timeline.slot_us for name in ("begin", "end")
    )
    stop = stop.fillna(timeline.slot_count).astype(np.int64)
    return spans[["client", "topic"]].assign(first=first, stop=stop)


def _hosted_changes(spans: pd.DataFrame, stays: pd.DataFrame) -> pd.DataFrame:
    """broker, topic, time, change: clients more or fewer that want it there, never 0."""
    blocks = zip(
        spans.groupby(spans.client // CLIENTS_AT_ONCE),
        stays.groupby(stays.client // CLIENTS_AT_ONCE),
        strict=True,
    )
    moved = pd.concat([_hosted(wants, places) for (_, wants), (_, places) in blocks])
    netted = moved.groupby(["broker", "topic", "time"], as_index=False).change.sum()
    return netted[netted.change != 0]


def _broker_changes(hosted: pd.DataFrame) -> pd.DataFrame:
    """broker, topic, time, is_on: reference counts that leave 0 or come back to it."""
    after = hosted.groupby(["broker", "topic"]).change.cumsum()
    is_changed = (after > 0) != (after - hosted.change > 0)
    return hosted.assign(is_on=after > 0)[is_changed]


def _hosted(spans: pd.DataFrame, stays: pd.DataFrame) -> pd.DataFrame:
    """broker, topic, time, change: each client's wants where it stays."""
    hosted = spans.merge(stays, on="client")
    hosted = hosted[~(hosted.leave <= hosted.begin) & ~(hosted.end <= hosted.come)]
    on = hosted.assign(time=hosted[["begin", "come"]].max(axis=1), change=1)
    off = hosted.assign(time=hosted[["end", "leave"]].min(axis=1), change=-1).dropna(
        subset=["time"]
    )
    return pd.concat([on, off])[["broker", "topic", "time", "change"]]


def _differences(
    read: PlainTrace, stays: pd.DataFrame, hosted: pd.DataFrame, changes: pd.DataFrame
) -> pa.Table:
    """Slot and DIFFERENCES to the slot before: what no design has a part in."""
    timeline = read.timeline
    changed = (changes.time - timeline.origin_us) // timeline.slot_us
    moved = stays.come[stays.client == stays.client.shift()]
    handed = (moved - timeline.origin_us) // timeline.slot_us
    after = -((timeline.origin_us - hosted.time) // timeline.slot_us)
    loads = hosted.change.groupby([hosted.broker, after.rename("slot")]).sum()
    totals = loads.groupby(level="broker").cumsum()
    counts = {
        "subscription_changes": changed.value_counts(),
        "hand_overs": handed.value_counts(),
        "load": loads.groupby(level="slot").sum(),
        "squares": (totals**2 - (totals - loads) ** 2).groupby(level="slot").sum(),
    }
    joined = pd.DataFrame({name: counts[name] for name in DIFFERENCES}).fillna(0).astype(np.int64)
    return pa.table({"slot": joined.index.to_numpy().astype(np.int64), **dict(joined.items())})


def _replayed(
    read: PlainTrace,
    changes: pd.DataFrame,
    placement: str,
    designs: Sequence[str],
    wish: ReplayParameters,
) -> list[tuple[pa.Table, pa.Table]]:
    """For each design OVERLAYS, and by slot what summary_of_slots wants to know."""
    timeline = read.timeline
    after = -((timeline.origin_us - changes.time) // timeline.slot_us).astype(np.int64)
    stop = after.groupby([changes.broker, changes.topic]).shift(-1, fill_value=timeline.slot_count)
    runs = changes.assign(first=after, stop=stop)[changes.is_on & (after < stop)]
    slots = ((changes.time - timeline.origin_us) // timeline.slot_us).astype(np.int64)
    happened = changes.assign(slot=slots)
    rules = wish.overlay.rules()
    former: dict[str, Successor] = {}
    overlays: dict[str, list[Any]] = {design: [] for design in designs}
    counts: dict[str, list[pa.Table]] = {design: [] for design in designs}
    for epoch in range(timeline.epoch_count):
        begin = epoch * timeline.epoch_slots
        end = min(begin + timeline.epoch_slots, timeline.slot_count)
        snapshot = _snapshot(read, runs, begin)
        events = _events(read, runs, happened, begin, end)
        unit = replay_unit(events, read.brokers, begin, end - begin)
        for design in designs:
            found = follow(design, former.get(design), snapshot, rules, seed=wish.seed)
            former[design] = found
            overlays[design].append(overlay_row(placement, design, epoch, found))
            sent = counted(unit, carrier_of(found.overlay, unit.snapshot))
            change = [found.reconfiguration_messages, *[None] * (end - begin - 1)]
            counts[design].append(
                pa.table({"slot": range(begin, end), "reconfiguration_messages": change, **sent})
            )
    return [
        (arrow_table(OVERLAYS, overlays[design]), _named(counts[design], placement, design))
        for design in designs
    ]


def _named(counts: list[pa.Table], placement: str, design: str) -> pa.Table:
    """The slots of all epochs, with the names of what they are of."""
    slots = pa.concat_tables(counts, promote_options="permissive")
    for name, value in (("placement", placement), ("design", design)):
        slots = slots.append_column(name, pa.array([value] * len(slots)))
    return slots


def _snapshot(read: PlainTrace, runs: pd.DataFrame, begin: int) -> Snapshot:
    """What brokers want as an epoch begins; topics that nobody wants are left out."""
    brokers, slots = read.brokers, read.timeline.epoch_slots
    standing = runs[(runs["first"] <= begin) & (begin < runs.stop)]
    present, columns = np.unique(standing.topic.to_numpy(), return_inverse=True)
    expected = read.rates[present, begin - 1] * slots if begin else np.zeros(len(present))
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
        (CHANGE, changes.topic, changes.broker, changes.slot, changes.slot),
        (PUBLISHED, topics, np.full(len(topics), ANYWHERE), slots + begin, slots + begin + 1),
    ]
    columns = [np.concatenate([np.asarray(part[place]) for part in parts]) for place in range(1, 5)]
    kinds = np.concatenate([np.full(len(part[1]), part[0]) for part in parts])
    numbers = {
        name: column.astype(np.int64)
        for name, column in zip(("number", "first", "second"), columns[1:], strict=True)
    }
    numbers["amount"] = np.zeros(len(kinds), dtype=np.int64)
    numbers["amount"][kinds == PUBLISHED] = published
    names = np.array(read.topics, dtype=object)[columns[0].astype(np.int64)]
    return pa.table({"kind": kinds, "topic": names, **numbers})
