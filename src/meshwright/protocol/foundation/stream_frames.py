"""A frame: one publication of a stream, as brokers carry it.

A stream is all publications on one topic that entered the network at one broker. It is numbered
from 1 by its origin, which keeps each publication on disk until every interested broker has
acknowledged it. Overlays only carry frames quickly; what they lose, the origin sends again.
"""

from __future__ import annotations

import msgspec

from meshwright.model.publication import Publication

NOTHING_OWED = -1
# No topic is empty, so this stands for all that are not named.
EVERY_TOPIC = ""


class StreamFrame(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One publication of a stream; number 0 means QoS 0, which is sent once and never repaired.

    previous: pairs of a broker and the number that this broker must have before this frame (or
    NOTHING_OWED), where that is not number - 1. behind: None unless its topic has one order with
    other topics; then the numbers on those topics that a broker must have first, if it wants them.
    """

    origin: str
    number: int
    publication: Publication
    previous: tuple[tuple[str, int], ...] = ()
    behind: tuple[tuple[str, int], ...] | None = None

    def previous_of(self, broker: str) -> int:
        """What this broker must have before this frame."""
        for name, number in self.previous:
            if name == broker:
                return number
        return self.number - 1


def passed_in(passed_numbers: dict[tuple[str, str], int], origin: str, topic: str) -> int:
    """Up to which number a stream is passed on, by what Incoming.passed_numbers returned."""
    others = passed_numbers.get((origin, EVERY_TOPIC), 0)
    return max(passed_numbers.get((origin, topic), 0), others)
