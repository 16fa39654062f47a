"""Literal rows in, sorted rows out: how tests speak with stages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from meshwright.model.schema import Table
from meshwright.model.times import SECOND_US
from meshwright.pipeline.tables.frames import literal_frame
from meshwright.pipeline.tables.timeline import Timeline

MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)
HOUR_US = 3600 * SECOND_US


def at(hours: float) -> datetime:
    """A time so many hours after the origin."""
    return MIDNIGHT + timedelta(hours=hours)


def timeline(slot_count: int, epoch_slots: int) -> Timeline:
    """Slots of an hour from the origin."""
    return Timeline(int(MIDNIGHT.timestamp()) * SECOND_US, HOUR_US, slot_count, epoch_slots)


def frame(session: SparkSession, table: Table, rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    """A table of rows whose times are hours after the origin."""
    times = [column.kind == "time" for column in table.columns]
    return literal_frame(
        session,
        table,
        (
            tuple(at(cell) if is_time else cell for cell, is_time in zip(row, times, strict=True))
            for row in rows
        ),
    )


def found(frame: DataFrame) -> list[tuple[Any, ...]]:
    """All rows in order, times as hours after the origin."""
    rows = [tuple(_plain(cell) for cell in row) for row in frame.collect()]
    return sorted(rows, key=repr)


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return (cell.replace(tzinfo=UTC) - MIDNIGHT) / timedelta(hours=1)
    return cell
