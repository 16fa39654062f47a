"""Queues that outgrew their bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from meshwright.history.violation import Violation, seconds


class QueueLength(NamedTuple):
    """How long a broker's queue was at a time, and how long it may be."""

    time_us: int
    broker: str
    queue: str
    length: int
    length_max: int


def overfull(lengths: Iterable[QueueLength]) -> list[Violation]:
    """The first time that each queue was longer than it may be."""
    found: dict[tuple[str, str], Violation] = {}
    for one in lengths:
        if one.length > one.length_max and (one.broker, one.queue) not in found:
            found[one.broker, one.queue] = Violation(
                checker="queues",
                sentence=(
                    f"{one.queue} of {one.broker} held {one.length} at {seconds(one.time_us)}, "
                    f"more than the {one.length_max} that are allowed"
                ),
                time_us=one.time_us,
            )
    return list(found.values())
