"""Quiet streams: their origin forgets them, and tells others when they may.

An origin keeps one number on disk, used_up_to: whatever it publishes from now on, on any topic,
gets a higher number. So the origin need not remember the last number of a stream on which nothing
was published since used_up_to was raised, and forgets the stream. Once every receiver has all that
it is owed up to that number, the origin tells all brokers (AllPassed): a publication with a number
up to it is a late copy, and no receiver need remember how far it had passed each stream.
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

# No number up to this is given to a publication again, even after a crash.
USED_UP_TO: DiskKey = ("stream floor",)


class QuietSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often quiet streams are looked for, and how long ago their receivers must have been read.

    quiet_us must be above the time for which a stream is open after that, which others rely on.
    """

    sweep_every_us: int = 60_000_000
    quiet_us: int = 30_000_000


class QuietStreams:
    """Forgets the quiet streams of one origin.

    used_up_to: the next publication, on any topic, gets a higher number than this.
    """

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
        self.used_up_to = 0

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start: give no number up to used_up_to again."""
        self.used_up_to = disk.get(USED_UP_TO, 0)
        turn.timer(SWEEP, turn.now_us + self._settings.sweep_every_us)

    def sweep(self, turn: Turn, *, is_raised: bool) -> None:
        """Forget quiet streams, tell others up to which number all is safe, raise used_up_to."""
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
        if is_raised and highest > self.used_up_to:
            self.used_up_to = highest
            turn.write(USED_UP_TO, highest)
        turn.timer(SWEEP, turn.now_us + self._settings.sweep_every_us)

    def _is_quiet(self, turn: Turn, stream: OutgoingStream) -> bool:
        is_busy = (
            stream.log or stream.qos0 or stream.questions or stream.announcing or stream.is_checking
        )
        is_old = turn.now_us - stream.read_us > self._settings.quiet_us
        return is_old and stream.number <= self.used_up_to and not is_busy

    def _passed(self) -> int:
        """The number up to which every receiver has all that it is owed."""
        kept = [next(iter(stream.log)) for stream in self._streams.values() if stream.log]
        return min([self.used_up_to, *(number - 1 for number in kept)])

    def _tell(self, turn: Turn, message: AllPassed) -> None:
        for name in (self._me, *self._conversations.peers()):
            self._conversations.send(turn, name, message)
