"""How a broker finds out that nothing of older overlays comes its way any more.

After a switch nothing new is sent on the old overlay, so all that moves on it is passed on from
broker to broker. Each broker notes how far it has sent whenever it passes something on, and tells
the coordinator once it has been quiet for a while. When everybody has received as far as everybody
had sent, nothing is under way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.reconfiguration.conversation_marks import Marks, marked
from meshwright.protocol.reconfiguration.messages import DrainAsked, Drained

QUIET = ("reconfigure quiet",)


class LostInChange(msgspec.Struct, frozen=True, kw_only=True):
    """A frame of QoS 0 came on a forgotten overlay, and was dropped; nobody repairs it."""

    epoch: int
    publisher: str
    sequence: int
    topic: str


def note_lost(turn: Turn, message: Any) -> None:
    """Report a frame on an overlay that was forgotten, if nobody repairs it."""
    frame = getattr(message, "frame", None)
    if frame is not None and not frame.number:
        publication = frame.publication
        for place in range(publication.count):
            turn.report(
                LostInChange(
                    epoch=message.epoch,
                    publisher=publication.publisher,
                    sequence=publication.sequence + place,
                    topic=publication.topic,
                )
            )


class Draining:
    """One broker's part. coordinator: who is to be told, None if nobody is."""

    def __init__(
        self, quiet_us: int, conversations: Conversations, *, send: Callable[[Turn, str, Any], None]
    ) -> None:
        self._quiet_us = quiet_us
        self._conversations = conversations
        self._send = send
        self._coordinator: str | None = None
        self._epoch = 0
        self._sent: dict[str, int] = {}
        self._is_stirred = False
        self._has_timer = False

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (on(DrainAsked, self._asked),)

    def switched(self, turn: Turn, epoch: int) -> None:
        """Another overlay is in force: nothing more enters the older ones here."""
        self._epoch = epoch
        self._coordinator = None
        self.passed_on(turn)

    def report_to(self, turn: Turn, coordinator: str, epoch: int) -> None:
        """The overlay in force is on disk: tell its coordinator when all is quiet."""
        if epoch == self._epoch:
            self._coordinator = coordinator
            self._is_stirred = False
            self._wait(turn)

    def passed_on(self, turn: Turn) -> None:
        """Something of an older overlay was here; it may have gone on to anybody."""
        self._sent = {
            peer: self._conversations.progress(peer).sent for peer in self._conversations.peers()
        }
        self._is_stirred = True
        if self._coordinator is not None:
            self._wait(turn)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """What was under way to a peer is void."""
        if self._sent.pop(peer, 0) and self._coordinator is not None:
            self._wait(turn)

    def quiet(self, turn: Turn) -> None:
        """Some time is over: if it was quiet, say so."""
        self._has_timer = False
        if self._is_stirred:
            self._is_stirred = False
            self._wait(turn)
        else:
            self._report(turn)

    def finished(self) -> None:
        """Older overlays are forgotten."""
        self._sent.clear()

    def _asked(self, turn: Turn, peer: str, message: DrainAsked) -> None:
        if message.epoch == self._epoch:
            self._coordinator = peer
            self._report(turn)

    def _wait(self, turn: Turn) -> None:
        if not self._has_timer:
            self._has_timer = True
            turn.timer(QUIET, turn.now_us + self._quiet_us)

    def _report(self, turn: Turn) -> None:
        if self._coordinator is not None:
            self._send(turn, self._coordinator, Drained(self._epoch, self._marks()))

    def _marks(self) -> Marks:
        return {
            peer: marked(self._conversations.progress(peer), self._sent.get(peer, 0), 0)
            for peer in self._conversations.peers()
        }
