"""Quiet streams: their origin forgets them, and tells others when they may.

An origin has a floor, on disk: all that it takes from now on gets a higher number, on any topic. So
a stream that nobody used since the floor was raised is nothing but a number below it, and is
forgotten. Once all up to the floor is safe wherever it is owed, everybody is told: whatever comes
with such a number is a late copy, and nobody need remember how far each stream had come.
"""

from __future__ import annotations

from typing import Any

import msgspec

from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.streams.known_interest import KnownInterest
from meshwright.protocol.streams.messages import AllPassed
from meshwright.protocol.streams.outgoing_stream import OutgoingStream

SWEEP = ("quiet streams",)

# Also after a disk lost what was not synced, no number up to this was given.
FLOOR: DiskKey = ("stream floor",)


class QuietSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often quiet streams are looked for, and how long ago their receivers must have been read.

    quiet_us must be above the time for which a stream is open after that, which others rely on.
    """

    sweep_every_us: int = 60_000_000
    quiet_us: int = 30_000_000


class QuietStreams:
    """The floor of one origin, whose streams these are."""

    def __init__(
        self,
        me: str,
        streams: dict[str, OutgoingStream],
        known: KnownInterest,
        conversations: Conversations,
        settings: QuietSettings,
    ) -> None:
        self._me = me
        self._streams = streams
        self._known = known
        self._conversations = conversations
        self._settings = settings
        self._told = 0
        self.floor = 0

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start: no number up to the floor is given again."""
        self.floor = disk.get(FLOOR, 0)
        turn.timer(SWEEP, turn.now_us + self._settings.sweep_every_us)

    def sweep(self, turn: Turn, *, is_raised: bool) -> None:
        """Forget streams that stayed quiet, tell others what is safe, and raise the floor."""
        for topic, stream in list(self._streams.items()):
            if self._is_quiet(turn, stream):
                del self._streams[topic]
                self._known.forget(topic)
                turn.forget(("stream", topic))
        passed = self._passed()
        if passed > self._told:
            self._told = passed
            # Once synced: a number that was called a late copy must not be given after a crash.
            turn.once_synced(lambda later: self._tell(later, AllPassed(passed)))
        highest = max([stream.number for stream in self._streams.values()], default=0)
        if is_raised and highest > self.floor:
            self.floor = highest
            turn.write(FLOOR, highest)
        turn.timer(SWEEP, turn.now_us + self._settings.sweep_every_us)

    def _is_quiet(self, turn: Turn, stream: OutgoingStream) -> bool:
        is_busy = (
            stream.log or stream.qos0 or stream.questions or stream.announcing or stream.is_checking
        )
        is_old = turn.now_us - stream.read_us > self._settings.quiet_us
        return is_old and stream.number <= self.floor and not is_busy

    def _passed(self) -> int:
        """Up to where everything is safe wherever it is owed."""
        kept = [next(iter(stream.log)) for stream in self._streams.values() if stream.log]
        return min([self.floor, *(number - 1 for number in kept)])

    def _tell(self, turn: Turn, message: AllPassed) -> None:
        for name in (self._me, *self._conversations.peers()):
            self._conversations.send(turn, name, message)
