"""What came too late: publications of a client that moved, behind later ones of the same client.

An origin that crashed does not know who wanted a publication when it was taken, and sends it to all
who want its topic now. Whoever was owed it got it before anything that its publisher sent elsewhere
afterwards (see incoming). So if something later was here first, nobody here is owed it, and to
give it to them now would only break the order.
"""

from __future__ import annotations

from meshwright.protocol.stream import StreamFrame

REMEMBERED_MIN = 4_096

# A publisher and a topic.
Line = tuple[str, str]


class Overtaking:
    """The last that was passed on of each publisher on each topic, in bounded memory."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        self._newer: dict[Line, tuple[str, int]] = {}
        self._older: dict[Line, tuple[str, int]] = {}

    def is_overtaken(self, frame: StreamFrame) -> bool:
        """Take note of a frame; True if one that its publisher sent later elsewhere was here."""
        publication = frame.publication
        line = (publication.publisher, publication.topic)
        newer = self._newer
        last = newer.get(line) or self._older.get(line)
        if last is not None and last[0] != frame.origin and last[1] > publication.sequence:
            return True
        newer[line] = (frame.origin, publication.sequence)
        if len(newer) >= REMEMBERED_MIN:
            self._older, self._newer = newer, {}
        return False
