"""A trace read into memory with pandas: interests of subscribers, or of people who wander."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import Int64Array
from meshwright.model.schema import TRACE_TABLES
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.generators.blocks import gathered
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.generators.trace_generation import model_tables
from meshwright.pipeline.replays.parameters import ReplayParameters
from meshwright.pipeline.stages.rates import filtered
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.timeline import Timeline, spanning
from meshwright.pipeline.tables.trace_brokers import delays_between
from meshwright.planning.placement.clusters import nearest_brokers

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True, slots=True, eq=False)
class PlainTrace:
    """A trace in memory; clients, topics and brokers are numbers.

    spans: client, topic, begin, end of interests. events: client and time of every change.
    places: client, time, broker, for each placement that does not choose. homes: those of them in
    whose clusters clients choose. publications, rates: (topic, slot).
    """

    brokers: Brokers
    timeline: Timeline
    spans: pd.DataFrame
    events: pd.DataFrame
    places: dict[str, pd.DataFrame]
    homes: pd.DataFrame
    topics: list[str]
    publications: Int64Array
    rates: Float64Array


def tables_of_model(model: PoissonParameters | LocationParameters) -> Tables:
    """The tables that `trace generate` would write, made here."""
    return {blocks.table.name: gathered(blocks).to_pandas() for blocks in model_tables(model)}


def tables_on_disk(trace: Path) -> Tables:
    """The tables of a folder."""
    return {name: pd.read_parquet(trace / name) for name in TRACE_TABLES if (trace / name).is_dir()}


def read_trace(
    tables: Tables, wish: ReplayParameters, asked: pd.Series | None = None
) -> PlainTrace:
    """All of it; asked: the broker that every client asked first, by names, or else drawn here."""
    brokers = _brokers(tables)
    if "subscriptions" in tables:
        events, lasting = _subscribed(tables), None
    else:
        lasting = _lasting_visits(tables, wish.interests.cell_degrees)
        events = _located(lasting, tables)
    published = _published(tables)
    times = pd.concat([events.time, published.time])
    timeline = spanning(int(times.min()), int(times.max()), wish.time.slot_s, wish.time.epoch_slots)
    topics = sorted({*events["topic"].unique(), *published["topic"].unique()})
    clients = sorted(events["client"].unique())
    events["topic"] = _numbers(events["topic"], topics)
    events["client"] = _numbers(events["client"], clients)
    events = events.sort_values(["client", "topic", "time"], ignore_index=True)
    ends = events.groupby(["client", "topic"]).time.shift(-1)
    spans = events.assign(begin=events.time, end=ends)[events.is_on]
    places = {"static": _asked(events, clients, brokers, wish.seed, asked)}
    if "connections" in tables:
        places["recorded"] = _recorded(tables["connections"], clients, brokers)
    if lasting is not None:
        places["location"] = _homes(lasting, clients, brokers, wish.interests.cell_degrees)
    publications = _counts(published, topics, timeline)
    rates = filtered(publications, wish.publications.alpha, timeline.epoch_ends())
    if "publications" not in tables:
        publications = np.full_like(publications, wish.publications.per_slot)
        rates = publications.astype(np.float64)
    return PlainTrace(
        brokers,
        timeline,
        spans[["client", "topic", "begin", "end"]],
        events[["client", "time"]],
        places,
        places.get("location", places["static"]),
        topics,
        publications,
        rates,
    )


def _brokers(tables: Tables) -> Brokers:
    """Those of the table of brokers, in the order of their names; sites are left out."""
    rows = tables["brokers"].sort_values("broker")
    names = tuple(BrokerName(name) for name in rows.broker)
    coordinates = rows[["latitude", "longitude"]].to_numpy(dtype=np.float64)
    delays_ms = None
    if "delays" in tables:
        delays_ms = delays_between(pa.Table.from_pandas(tables["delays"]), names)
    return Brokers(names, None if bool(np.isnan(coordinates).any()) else coordinates, delays_ms)


def _asked(
    events: pd.DataFrame,
    clients: list[str],
    brokers: Brokers,
    seed: int,
    asked: pd.Series | None,
) -> pd.DataFrame:
    """client, time, broker: where each newcomer happens to ask."""
    first = events.groupby("client", as_index=False).time.min()
    if asked is None:
        numbers = np.random.default_rng([seed, len(clients)]).integers(
            brokers.count, size=len(clients)
        )
    else:
        numbers = _numbers(asked[clients], list(brokers.names))
    return first.assign(broker=numbers[first.client])


def _recorded(connections: pd.DataFrame, clients: list[str], brokers: Brokers) -> pd.DataFrame:
    """client, time, broker, by who was connected where."""
    on = connections[connections.is_on & connections.client.isin(clients)]
    return pd.DataFrame(
        {
            "client": _numbers(on.client, clients),
            "time": _microseconds(on.time),
            "broker": _numbers(on.broker, list(brokers.names)),
        }
    )


def _subscribed(tables: Tables) -> pd.DataFrame:
    """client, topic, time, is_on: subscriptions that change something."""
    rows = tables["subscriptions"].assign(time=lambda rows: _microseconds(rows["time"]))
    rows = rows.groupby(["client", "topic", "time"], sort=True, as_index=False).is_on.max()
    former = rows.groupby(["client", "topic"]).is_on.shift(fill_value=False)
    return rows[rows.is_on != former].copy()


def cell_visits(tables: Tables, cell_degrees: float) -> pd.DataFrame:
    """client, time, north, east: where people went from one cell to another."""
    rows = tables["positions"].assign(time=lambda rows: _microseconds(rows["time"]))
    rows["north"] = np.floor(rows.latitude / cell_degrees).astype(np.int64)
    rows["east"] = np.floor(rows.longitude / cell_degrees).astype(np.int64)
    rows = rows.sort_values(["client", "time", "venue", "latitude", "longitude"])
    place = ["client", "north", "east"]
    return rows[(rows[place] != rows[place].shift()).any(axis=1)][["client", "time", *place[1:]]]


def _lasting_visits(tables: Tables, cell_degrees: float) -> pd.DataFrame:
    """The visits but for those that ended at once."""
    visits = cell_visits(tables, cell_degrees)
    stays = visits.groupby("client").time.shift(-1) - visits.time
    return visits[stays.isna() | (stays > 0)]


def _located(lasting: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """client, topic, time, is_on: people follow their own cell and those of their friends."""
    cells = "cell/" + lasting.north.astype(str) + "/" + lasting.east.astype(str)
    entered = pd.DataFrame({"client": lasting.client, "time": lasting.time, "topic": cells})
    left = entered.assign(time=entered.groupby("client").time.shift(-1)).dropna(subset=["time"])
    moves = pd.concat([entered.assign(change=1), left.assign(change=-1)])
    arrivals = lasting.groupby("client").time.min().rename("arrival")
    followed = [moves]
    if "friendships" in tables:
        friends = tables["friendships"].drop_duplicates()
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


def _homes(
    lasting: pd.DataFrame, clients: list[str], brokers: Brokers, cell_degrees: float
) -> pd.DataFrame:
    """client, time, broker: the nearest to the middle of one's cell, whenever it changes."""
    assert brokers.coordinates is not None
    cells, codes = np.unique(lasting[["north", "east"]].to_numpy(), axis=0, return_inverse=True)
    nearest = nearest_brokers((cells + 0.5) * cell_degrees, brokers.coordinates).astype(np.int64)
    codes = codes.reshape(-1)
    homes = pd.DataFrame({"client": lasting.client, "time": lasting.time, "broker": nearest[codes]})
    homes = homes[homes.broker != homes.groupby("client").broker.shift()]
    return homes.assign(client=_numbers(homes.client, clients))


def _published(tables: Tables) -> pd.DataFrame:
    """time, topic."""
    if "publications" not in tables:
        return pd.DataFrame({"time": np.empty(0, dtype=np.int64), "topic": []})
    rows = tables["publications"][["time", "topic"]]
    return rows.assign(time=_microseconds(rows["time"]))


def _counts(published: pd.DataFrame, topics: list[str], timeline: Timeline) -> Int64Array:
    """Publications: (topic, slot)."""
    counts = np.zeros((len(topics), timeline.slot_count), dtype=np.int64)
    slots = (published.time - timeline.origin_us) // timeline.slot_us
    np.add.at(counts, (_numbers(published.topic, topics), slots.to_numpy()), 1)
    return counts


def _numbers(names: pd.Series, known: list[str]) -> Int64Array:
    """The place of each name among the known ones."""
    places: Int64Array = pd.Categorical(names, known).codes.astype(np.int64)
    return places


def _microseconds(times: pd.Series) -> Int64Array:
    counted_us: Int64Array = times.to_numpy("datetime64[us]").astype(np.int64)
    return counted_us
