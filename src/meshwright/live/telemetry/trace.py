"""A live broker's telemetry as a trace: files of the tables that model.schema describes.

A file appears whole under its name, so whoever watches the folder reads nothing twice or by half.
Rows since the last file are lost in a crash: a trace is for planning, not for promises.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from meshwright.errors import OperatorError
from meshwright.model.schema import (
    BROKERS,
    CONNECTIONS,
    DELAYS,
    PUBLICATIONS,
    RECORDED_BY,
    STATEMENTS,
    SUBSCRIPTIONS,
    Column,
    ColumnKind,
    Table,
)
from meshwright.protocol.inspection import BrokerView
from meshwright.protocol.sessions.publishing import SYSTEM_PREFIX

ARROW_TYPES: dict[ColumnKind, pa.DataType] = {
    "time": pa.timestamp("us", tz="UTC"),
    "text": pa.string(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "truth": pa.bool_(),
}
# Statements come last: what they say holds of files that were written before them.
RECORDED = (SUBSCRIPTIONS, PUBLICATIONS, CONNECTIONS, STATEMENTS)
ROWS_MAX = 200_000

# Rows by the names of their tables.
Rows = dict[str, list[tuple[Any, ...]]]


class Place(NamedTuple):
    """Where a broker stands, as far as its settings say."""

    latitude: float | None = None
    longitude: float | None = None
    site: str | None = None


class Standing(NamedTuple):
    """A client with a session here, whether it is connected, and what it wants."""

    client: str
    is_connected: bool
    topics: tuple[str, ...]


def standing_sessions(view: BrokerView) -> Iterator[Standing]:
    """The sessions of a broker as a trace has them: without what brokers tell of themselves."""
    for session in view.sessions:
        filters = (one.filter for one in session.subscriptions)
        topics = tuple(one for one in filters if not one.startswith(SYSTEM_PREFIX))
        yield Standing(session.client, session.is_connected, topics)


class TraceRecorder:
    """Gathers rows, and writes them when told to or when there are many."""

    def __init__(
        self, folder: Path, broker: str, incarnation: int, place: Place | None = None
    ) -> None:
        self._folder = folder
        self._broker = broker
        self._place = place or Place()
        self._delays: list[tuple[str, str, float]] = []
        self._incarnation = incarnation
        self._prefix = f"{broker}-{incarnation}"
        self._file_count = 0
        # How many files of each table there are: a file's rows say which one they are of.
        self._parts: Counter[str] = Counter()
        # Finished files that were not asked for yet: their tables and names.
        self._finished: list[tuple[str, str]] = []
        self._failure: OperatorError | None = None
        self._rows: Rows = {table.name: [] for table in RECORDED}
        # A part may be written in between, or at the end, while a thread still writes another.
        self._writing = threading.Lock()

    def subscription(self, time_us: int, client: str, topic: str, *, is_on: bool) -> None:
        """A client began or ceased to want a topic."""
        self._rows["subscriptions"].append((time_us, client, topic, is_on))

    def publication(
        self, time_us: int, topic: str, publisher: str, byte_count: int, *, count: int = 1
    ) -> None:
        """A client published; count: so many messages of one size."""
        rows = self._rows["publications"]
        rows += [(time_us, topic, publisher, byte_count)] * count
        if len(rows) >= ROWS_MAX:
            self._flush_many()

    def connection(self, time_us: int, client: str, *, is_on: bool) -> None:
        """A client came or left."""
        self._rows["connections"].append((time_us, client, self._broker, is_on))

    def statement(self, time_us: int, sessions: Iterable[Standing]) -> None:
        """Say of all sessions how they are; who is not named is not connected here.

        It is told in rows of subscriptions and connections again, so that whoever reads only those
        misses nothing when older files are gone.
        """
        rows = self._rows["statements"]
        rows.append((time_us, self._broker, None))
        for client, is_connected, topics in sessions:
            if is_connected:
                self.connection(time_us, client, is_on=True)
                rows.append((time_us, self._broker, client))
            for topic in topics:
                self.subscription(time_us, client, topic, is_on=True)

    def round_trips(self, round_trips_ms: dict[str, float]) -> None:
        """How far other brokers are, as measured up to now; half of it is one way."""
        self._delays = [(self._broker, peer, ms / 2) for peer, ms in round_trips_ms.items()]

    def flush(self) -> None:
        """Write what has gathered, one file a table."""
        self.write(self.gathered())

    def _flush_many(self) -> None:
        """Write in between; that it failed is said when the rest is written."""
        try:
            self.flush()
        except OperatorError as error:
            self._failure = error

    def gathered(self) -> Rows:
        """What has gathered since this was asked before."""
        rows, self._rows = self._rows, {table.name: [] for table in RECORDED}
        return rows

    def finished(self) -> list[tuple[str, str]]:
        """Tables and names of files that were written since this was asked before."""
        finished, self._finished = self._finished, []
        return finished

    def write(self, gathered: Rows) -> None:
        """Write rows, one file a table; may run in other threads than what gathers.

        What the broker is and how far others are goes out each time, in the place of what was
        there, as whoever takes it may lose it.
        """
        with self._writing:
            self._write_all(gathered)

    def _write_all(self, gathered: Rows) -> None:
        failure, self._failure = self._failure, None
        here, standing = self._place, f"{self._broker}.parquet"
        row = (self._broker, here.latitude, here.longitude, None, here.site)
        self._write(BROKERS, [row], standing)
        if self._delays:
            self._write(DELAYS, list(self._delays), standing)
        self._file_count += 1
        for table in RECORDED:
            rows = gathered[table.name]
            if rows:
                name = f"{self._prefix}-{self._file_count:06d}.parquet"
                self._write(table, rows, name)
        if failure is not None:
            raise failure

    def _write(self, table: Table, rows: list[tuple[Any, ...]], name: str) -> None:
        contents = _arrow(table.columns, list(zip(*rows, strict=True)))
        if table in RECORDED:
            self._parts[table.name] += 1
            where = (self._broker, self._incarnation, self._parts[table.name])
            for column, value in zip(RECORDED_BY, where, strict=True):
                if column.name not in contents.schema.names:
                    values = pa.repeat(pa.scalar(value, ARROW_TYPES[column.kind]), len(rows))
                    contents = contents.append_column(column.name, values)
        folder = self._folder / table.name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Spark takes no file whose name begins with a dot.
            aside = folder / f".{name}"
            parquet.write_table(contents, aside)
            aside.rename(folder / name)
            self._finished.append((table.name, name))
        except OSError as error:
            raise OperatorError(
                f"{folder}: telemetry cannot be written ({error}); make room or choose another."
            ) from error


def _arrow(columns: tuple[Column, ...], values: list[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema(
        [
            pa.field(column.name, ARROW_TYPES[column.kind], nullable=not column.is_required)
            for column in columns
        ]
    )
    arrays = [pa.array(one, field.type) for one, field in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
