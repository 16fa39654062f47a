"""The tables of a trace and of what the pipeline makes of it, described once.

A trace is a folder with one Parquet table a name; a live network's telemetry is a trace too.
Times are UTC to the microsecond, places are degrees, delays are one-way milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

ColumnKind = Literal["time", "text", "whole", "number", "truth"]
# Whose rules a text follows: those of MQTT for what clients choose, ours for names of brokers.
TextForm = Literal["any", "client", "broker", "topic name", "topic filter"]


class Column(NamedTuple):
    """One column: its kind, what it says, whether every row has it, and what its texts are."""

    name: str
    kind: ColumnKind
    meaning: str
    is_required: bool = True
    form: TextForm = "any"


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name is the name of its folder in a trace."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


TIME = Column("time", "time", "when it happened")
CLIENT = Column("client", "text", "the MQTT client id", form="client")
TOPIC = Column("topic", "text", "the topic name or filter", form="topic filter")
BROKER = Column("broker", "text", "the broker's name", form="broker")
LATITUDE = Column("latitude", "number", "degrees north, -90 to 90")
LONGITUDE = Column("longitude", "number", "degrees east, -180 to 180")

SUBSCRIPTIONS = Table(
    "subscriptions",
    "who began or ceased to want a topic",
    (TIME, CLIENT, TOPIC, Column("is_on", "truth", "true: subscribed, false: unsubscribed")),
)
PUBLICATIONS = Table(
    "publications",
    "what was published",
    (
        TIME,
        Column("topic", "text", "the topic name", form="topic name"),
        Column("publisher", "text", "the client that published", form="client"),
        Column("bytes", "whole", "length of the payload"),
    ),
)
POSITIONS = Table(
    "positions",
    "where a client was seen: one row a check-in",
    (
        TIME,
        CLIENT,
        LATITUDE,
        LONGITUDE,
        Column("venue", "text", "the place's own identifier", is_required=False),
    ),
)
CONNECTIONS = Table(
    "connections",
    "when a client came to a broker and when it left",
    (
        TIME,
        CLIENT,
        BROKER,
        Column("is_on", "truth", "true: connected, false: disconnected"),
    ),
)
FRIENDSHIPS = Table(
    "friendships",
    "who follows whom; a mutual friendship is two rows",
    (CLIENT, Column("friend", "text", "the client that is followed", form="client")),
)
BROKERS = Table(
    "brokers",
    "the brokers there are",
    (
        BROKER,
        Column("latitude", "number", LATITUDE.meaning, is_required=False),
        Column("longitude", "number", LONGITUDE.meaning, is_required=False),
        Column("capacity", "whole", "clients it can serve; none: no limit", is_required=False),
        Column("site", "text", "where it stands, in words", is_required=False),
    ),
)
DELAYS = Table(
    "delays",
    "how far brokers are from each other; the way back is a row of its own",
    (
        Column("source", "text", "the broker that sends", form="broker"),
        Column("target", "text", "the broker that receives", form="broker"),
        Column("delay_ms", "number", "one way"),
    ),
)
STATEMENTS = Table(
    "statements",
    "that a broker has said who is connected to it and what they want, all of it",
    (
        TIME,
        BROKER,
        CLIENT._replace(meaning="one that is connected; none: the statement", is_required=False),
    ),
)
# What a live broker's tables say of each row beside their own columns: which broker recorded it,
# in which of its lives, and in which of its files of the table, counted from 1. Files may be
# copied, renamed or put together: these stay.
RECORDED_BY = (
    Column("broker", "text", "the broker that recorded the row", is_required=False),
    Column("life", "whole", "tells the broker's lives apart", is_required=False),
    Column("part", "whole", "the file of the table that had the row first", is_required=False),
)
CELL_NORTH = Column("cell_north", "whole", "floor of the latitude by the cell's degrees")
CELL_EAST = Column("cell_east", "whole", "floor of the longitude by the cell's degrees")
CELLS = Table(
    "cells",
    "check-ins with the cell they fall in",
    (*POSITIONS.columns, CELL_NORTH, CELL_EAST),
)
VISITS = Table(
    "visits",
    "maximal runs of a client's check-ins in one cell",
    (
        Column("time", "time", "its first check-in there"),
        CLIENT,
        CELL_NORTH,
        CELL_EAST,
        Column("checkin_count", "whole", "check-ins of the run"),
        Column("stay_s", "number", "until the next visit; a last has none", is_required=False),
    ),
)
QUARANTINE = Table(
    "quarantine",
    "rows that were refused on import",
    (
        Column("file", "text", "where the row stands"),
        Column("line", "whole", "its line there, the header being line 1"),
        Column("reason", "text", "what is wrong with it"),
        Column("row", "text", "the row as it was read", is_required=False),
    ),
)

TRACE_TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        SUBSCRIPTIONS,
        PUBLICATIONS,
        POSITIONS,
        CONNECTIONS,
        FRIENDSHIPS,
        BROKERS,
        DELAYS,
        STATEMENTS,
        QUARANTINE,
    )
}
