"""Which frames came here lately, and for what purpose, in bounded memory."""

from __future__ import annotations

from meshwright.protocol.foundation.stream_frames import StreamFrame

REMEMBERED_MIN = 8_192

FrameKey = tuple[str, int] | tuple[str, str, int]


def frame_key(frame: StreamFrame) -> FrameKey:
    """What identifies a frame: origin, topic and number; for QoS 0 publisher and sequence."""
    publication = frame.publication
    if frame.number:
        return (frame.origin, publication.topic, frame.number)
    return (publication.publisher, publication.sequence)


class RecentFrames:
    """Remembers at least the last REMEMBERED_MIN frames, and at most twice as many."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        self._newer: dict[FrameKey, int] = {}
        self._older: dict[FrameKey, int] = {}

    def __contains__(self, key: FrameKey) -> bool:
        """True if a frame was here, for whatever purpose."""
        return key in self._newer or key in self._older

    def note(self, key: FrameKey, purpose: int) -> int:
        """Note that a frame was here for a purpose, one bit; returns the bits before it."""
        newer, older = self._newer, self._older
        count = len(newer)
        before = newer.setdefault(key, purpose)
        if len(newer) > count:
            # Most frames are new, so it is asked once, and with one hash, whether this one is.
            before = older.get(key, 0) if older else 0
            if count + 1 >= REMEMBERED_MIN:
                self._older, self._newer = newer, {}
        if before & ~purpose:
            newer[key] = before | purpose
        return before
