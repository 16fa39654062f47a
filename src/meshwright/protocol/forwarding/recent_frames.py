"""Which frames were here lately, in bounded memory."""

from __future__ import annotations

from meshwright.protocol.stream import StreamFrame

REMEMBERED_MIN = 8_192

FrameKey = tuple[str, int] | tuple[str, str, int]


def frame_key(frame: StreamFrame) -> FrameKey:
    """What makes a frame the same: its place in its stream, or its event where it has none."""
    publication = frame.publication
    if frame.number:
        return (frame.origin, publication.topic, frame.number)
    return (publication.publisher, publication.sequence)


class RecentFrames:
    """Remembers at least the last REMEMBERED_MIN keys, and at most twice as many."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        self._newer: set[FrameKey] = set()
        self._older: set[FrameKey] = set()

    def __contains__(self, key: FrameKey) -> bool:
        return key in self._newer or key in self._older

    def add(self, key: FrameKey) -> bool:
        """Remember a key; True if it was not remembered."""
        newer = self._newer
        if key in newer or key in self._older:
            return False
        newer.add(key)
        if len(newer) >= REMEMBERED_MIN:
            self._older = newer
            self._newer = set()
        return True
