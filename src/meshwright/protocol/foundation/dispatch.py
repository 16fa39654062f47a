"""Which message, packet or event is for which method, in tables whose rows mypy checks.

A row is made by on or on_event, and its method must take what is of its kind. A table looks the
method up by the type of what came, and knows nothing of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from meshwright.protocol.foundation.turn import Turn

Kind = TypeVar("Kind")
# Who says it: a peer, by its name, or a client, by its session.
Source = TypeVar("Source")
Method = TypeVar("Method")


@dataclass(frozen=True, slots=True)
class Row(Generic[Method]):
    """What is of a kind, but not of a subclass of it, is for a method."""

    kind: type
    method: Method


Take = Callable[[Turn, Source, Any], None]
Table = dict[type, Take[Source]]
Handlers = tuple[Row[Take[str]], ...]
TakeEvent = Callable[[Turn, Any], None]
Doors = tuple[Row[TakeEvent], ...]


def on(kind: type[Kind], method: Callable[[Turn, Source, Kind], None]) -> Row[Take[Source]]:
    """The row of a message or a packet."""
    return Row(kind, method)


def on_event(kind: type[Kind], method: Callable[[Turn, Kind], None]) -> Row[TakeEvent]:
    """The row of an event."""
    return Row(kind, method)


def table_of(*rows: Row[Method]) -> dict[type, Method]:
    """All rows of machines that are joined; no kind is for two methods."""
    table: dict[type, Method] = {}
    for row in rows:
        assert row.kind not in table, f"{row.kind.__name__} is for two methods"
        table[row.kind] = row.method
    return table
