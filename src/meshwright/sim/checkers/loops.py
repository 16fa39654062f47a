"""Frames that went in circles: dropped because they had made too many hops."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.sim.checkers.violation import Violation, seconds
from meshwright.sim.records import Recorded

TOO_MANY_HOPS = "hops"


def loops(records: Iterable[Recorded]) -> list[Violation]:
    """Every report of something dropped for its hops."""
    return [
        Violation(
            checker="loops",
            sentence=f"{broker} dropped what made too many hops at {seconds(time_us)}: {record}",
            time_us=time_us,
            topic=getattr(record, "topic", None),
        )
        for time_us, broker, record in records
        if getattr(record, "reason", None) == TOO_MANY_HOPS
    ]
