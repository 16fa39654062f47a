"""A trace read into memory with pandas: interests of subscribers, or of people who wander."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from meshwright.model.interests import Int64Array
from meshwright.pipeline.brokers import Brokers
from meshwright.pipeline.parameters import ReplayParameters
from meshwright.pipeline.timeline import Timeline
from meshwright.planning.placement.clusters import nearest_brokers


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
    asked: client, time, broker that a newcomer asked. homes: the same of whoever changes its place.
    publications: (topic, slot).
    """

    spans: pd.DataFrame
    events: pd.DataFrame
    asked: pd.DataFrame
    homes: pd.DataFrame
    topics: list[str]
    publications: Int64Array


def read_trace(trace: Path, asked: pd.Series, world: World) -> PlainTrace:
    """All of it; asked: the broker that every client asked first, by names."""
    if (trace / "subscriptions").is_dir():
        events, lasting = _subscribed(trace), None
    else:
        lasting = _lasting_visits(trace, world.wish.interests.cell_degrees)
        events = _located(lasting, trace)
    published = pd.read_parquet(trace / "publications", columns=["time", "topic"])
    topics = sorted({*events["topic"].unique(), *published["topic"].unique()})
    clients = sorted(events["client"].unique())
    events["topic"] = pd.Categorical(events["topic"], topics).codes.astype(np.int64)
    events["client"] = pd.Categorical(events["client"], clients).codes.astype(np.int64)
    events = events.sort_values(["client", "topic", "time"], ignore_index=True)
    ends = events.groupby(["client", "topic"]).time.shift(-1)
    spans = events.assign(begin=events.time, end=ends)[events.is_on]
    first = events.groupby("client", as_index=False).time.min()
    numbers = pd.Categorical(asked[clients], list(world.brokers.names)).codes
    asked_first = first.assign(broker=numbers.astype(np.int64)[first.client])
    return PlainTrace(
        spans[["client", "topic", "begin", "end"]],
        events[["client", "time"]],
        asked_first,
        asked_first if lasting is None else _homes(lasting, clients, world),
        topics,
        _counts(published, topics, world.timeline),
    )


def _subscribed(trace: Path) -> pd.DataFrame:
    """client, topic, time, is_on: subscriptions that change something."""
    rows = pd.read_parquet(trace / "subscriptions")
    rows["time"] = _microseconds(rows["time"])
    rows = rows.groupby(["client", "topic", "time"], sort=True, as_index=False).is_on.max()
    former = rows.groupby(["client", "topic"]).is_on.shift(fill_value=False)
    return rows[rows.is_on != former]


def _lasting_visits(trace: Path, cell_degrees: float) -> pd.DataFrame:
    """client, time, north, east: where people went, but for where they left at once."""
    rows = pd.read_parquet(trace / "positions")
    rows["time"] = _microseconds(rows["time"])
    rows["north"] = np.floor(rows.latitude / cell_degrees).astype(np.int64)
    rows["east"] = np.floor(rows.longitude / cell_degrees).astype(np.int64)
    rows = rows.sort_values(["client", "time", "venue", "latitude", "longitude"])
    place = ["client", "north", "east"]
    visits = rows[(rows[place] != rows[place].shift()).any(axis=1)]
    stays = visits.groupby("client").time.shift(-1) - visits.time
    return visits[stays.isna() | (stays > 0)][["client", "time", "north", "east"]]


def _located(lasting: pd.DataFrame, trace: Path) -> pd.DataFrame:
    """client, topic, time, is_on: people follow their own cell and those of their friends."""
    cells = "cell/" + lasting.north.astype(str) + "/" + lasting.east.astype(str)
    entered = pd.DataFrame({"client": lasting.client, "time": lasting.time, "topic": cells})
    left = entered.assign(time=entered.groupby("client").time.shift(-1)).dropna(subset=["time"])
    moves = pd.concat([entered.assign(change=1), left.assign(change=-1)])
    arrivals = lasting.groupby("client").time.min().rename("arrival")
    followed = [moves]
    if (trace / "friendships").is_dir():
        friends = pd.read_parquet(trace / "friendships").drop_duplicates()
        followed.append(
            moves.rename(columns={"client": "friend"}).merge(friends, on="friend")[moves.columns]
        )
    wants = pd.concat(followed).merge(arrivals, left_on="client", right_index=True)
    wants["time"] = wants[["time", "arrival"]].max(axis=1).astype(np.int64)
    netted = wants.groupby(["client", "topic", "time"], as_index=False).change.sum()
    netted = netted[netted.change != 0]
    reasons = netted.groupby(["client", "topic"]).change.cumsum()
    is_changed = (reasons > 0) != (reasons - netted.change > 0)
    return netted.assign(is_on=reasons > 0)[is_changed].drop(columns="change")


def _homes(lasting: pd.DataFrame, clients: list[str], world: World) -> pd.DataFrame:
    """client, time, broker: the nearest to the middle of one's cell, whenever it changes."""
    assert world.brokers.coordinates is not None
    cells, codes = np.unique(lasting[["north", "east"]].to_numpy(), axis=0, return_inverse=True)
    middles = (cells + 0.5) * world.wish.interests.cell_degrees
    nearest = nearest_brokers(middles, world.brokers.coordinates).astype(np.int64)
    codes = codes.reshape(-1)
    homes = pd.DataFrame({"client": lasting.client, "time": lasting.time, "broker": nearest[codes]})
    homes = homes[homes.broker != homes.groupby("client").broker.shift()]
    return homes.assign(client=pd.Categorical(homes.client, clients).codes.astype(np.int64))


def _counts(published: pd.DataFrame, topics: list[str], timeline: Timeline) -> Int64Array:
    """Publications: (topic, slot)."""
    counts = np.zeros((len(topics), timeline.slot_count), dtype=np.int64)
    slots = (_microseconds(published["time"]) - timeline.origin_us) // timeline.slot_us
    np.add.at(counts, (pd.Categorical(published["topic"], topics).codes, slots), 1)
    return counts


def _microseconds(times: pd.Series) -> Int64Array:
    counted_us: Int64Array = times.to_numpy("datetime64[us]").astype(np.int64)
    return counted_us
