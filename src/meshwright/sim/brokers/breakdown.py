"""Errors that a broker's own code raised."""

from __future__ import annotations

from traceback import extract_tb
from typing import NamedTuple

from meshwright.protocol.foundation.events import Event


class Breakdown(NamedTuple):
    """A broker died of an error while it took in a event."""

    time_us: int
    broker: str
    event: str
    error: str
    place: str


def breakdown(time_us: int, broker: str, event: Event, error: Exception) -> Breakdown:
    """What is told of an error: what it was, and the innermost place where it came from."""
    last = extract_tb(error.__traceback__)[-1]
    module = last.filename.replace("\\", "/").rpartition("/")[2]
    return Breakdown(
        time_us,
        broker,
        type(event).__name__,
        f"{type(error).__name__}: {error}",
        f"{module}, line {last.lineno}, in {last.name}",
    )
