"""Frames that went in circles: dropped for their hops, or still on the way when all is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshwright.history.violation import Violation, seconds
from meshwright.model.wording import counted
from meshwright.sim.brokers.records import Recorded

TOO_MANY_HOPS = "hops"
CARRIED = "publication"


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


def restless(late_messages: Mapping[str, int], time_us: int) -> list[Violation]:
    """Frames that overlays carried long after the last of them had reached everybody."""
    count = late_messages.get(CARRIED, 0)
    if not count:
        return []
    sentence = f"{counted(count, 'message')} of publications went on after all was delivered"
    return [Violation(checker="loops", sentence=sentence, time_us=time_us)]
