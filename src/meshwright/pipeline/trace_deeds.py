"""What the clients of a trace did, in order: small enough to be done again by real ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.model.schema import (
    BROKERS,
    CONNECTIONS,
    FRIENDSHIPS,
    POSITIONS,
    PUBLICATIONS,
)
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.stages.interests import located_interests
from meshwright.pipeline.stages.visits import cells, visits
from meshwright.pipeline.tables.traces import read_table


@dataclass(frozen=True, slots=True)
class TraceDeeds:
    """brokers: in the order of their names. homes: where each client came first.

    interests: time, client, topic, and whether it is wanted from then on. publications: time,
    publisher and topic. Both by time, in microseconds since 1970.
    """

    brokers: tuple[str, ...]
    homes: dict[str, str]
    interests: tuple[tuple[int, str, str, bool], ...]
    publications: tuple[tuple[int, str, str], ...]


def located_deeds(session: SparkSession, trace: Place, cell_degrees: float) -> TraceDeeds:
    """The deeds of people who follow the cell where they are, and those of their friends."""
    seen = visits(cells(read_table(session, trace, POSITIONS), cell_degrees))
    interests = located_interests(seen, read_table(session, trace, FRIENDSHIPS))
    homes = read_table(session, trace, CONNECTIONS).where("is_on").orderBy("time", "client")
    published = read_table(session, trace, PUBLICATIONS)
    brokers = read_table(session, trace, BROKERS).orderBy("broker").select("broker").collect()
    found: dict[str, str] = {}
    for client, broker in homes.select("client", "broker").collect():
        found.setdefault(client, broker)
    return TraceDeeds(
        tuple(row.broker for row in brokers),
        found,
        _by_time(interests, "client", "topic", "is_on"),
        _by_time(published, "publisher", "topic"),
    )


def _by_time(frame: DataFrame, *columns: str) -> tuple[Any, ...]:
    time_us = sf.unix_micros("time").alias("time_us")
    rows = frame.select(time_us, *columns).orderBy("time_us", *columns).collect()
    return tuple(map(tuple, rows))
