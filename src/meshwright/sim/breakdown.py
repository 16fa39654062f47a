"""Errors that a broker's own code raised."""

from __future__ import annotations

from traceback import extract_tb
from typing import NamedTuple

from meshwright.protocol.foundation.events import Happening


class Breakdown(NamedTuple):
    """A broker died of an error while it took in a happening."""

    time_us: int
    broker: str
    happening: str
    error: str
    place: str


def breakdown(time_us: int, broker: str, happening: Happening, error: Exception) -> Breakdown:
    """What is told of an error: what it was, and the innermost place where it came from."""
    last = extract_tb(error.__traceback__)[-1]
    module = last.filename.replace("\\", "/").rpartition("/")[2]
    return Breakdown(
        time_us,
        broker,
        type(happening).__name__,
        f"{type(error).__name__}: {error}",
        f"{module}, line {last.lineno}, in {last.name}",
    )
