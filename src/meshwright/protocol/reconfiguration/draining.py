"""Draining: finds out that no frame travels on older overlays any more.

After its switch a broker sends new frames on the new overlay only, so frames on older ones are only
passed on. Each time a broker passes one on, it notes the numbers of its last messages to all peers.
When none came for quiet_us, it reports these numbers to the coordinator (Drained). When every
broker has received all that every other had sent, no such frame is in flight.
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
    """A QoS 0 frame came on an overlay that was dropped, and is lost, as QoS 0 is not repaired."""

    epoch: int
    publisher: str
    sequence: int
    topic: str


def note_lost(turn: Turn, message: Any) -> None:
    """Report a QoS 0 frame that came on an overlay which this broker has dropped."""
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
    """One broker's part in draining.

    _coordinator: the broker to report to, None before the new overlay is on disk.
    _sent: for each peer, the number of the last message when a frame was last passed on.
    _is_stirred: a frame of an older overlay came since the timer was set.
    """

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
        """Map each message to its method."""
        return (on(DrainAsked, self._asked),)

    def switched(self, turn: Turn, epoch: int) -> None:
        """Another overlay is in force: no new frame enters the older ones at this broker."""
        self._epoch = epoch
        self._coordinator = None
        self.passed_on(turn)

    def report_to(self, turn: Turn, coordinator: str, epoch: int) -> None:
        """The overlay in force is on disk: report to its coordinator when it is quiet."""
        if epoch == self._epoch:
            self._coordinator = coordinator
            self._is_stirred = False
            self._wait(turn)

    def passed_on(self, turn: Turn) -> None:
        """A frame of an older overlay came, and may have been passed on to any peer."""
        self._sent = {
            peer: self._conversations.progress(peer).sent for peer in self._conversations.peers()
        }
        self._is_stirred = True
        if self._coordinator is not None:
            self._wait(turn)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Forget what was in flight to a peer: its conversation ended, so it never arrives."""
        if self._sent.pop(peer, 0) and self._coordinator is not None:
            self._wait(turn)

    def quiet(self, turn: Turn) -> None:
        """The timer fired: report if no frame came meanwhile, wait again otherwise."""
        self._has_timer = False
        if self._is_stirred:
            self._is_stirred = False
            self._wait(turn)
        else:
            self._report(turn)

    def finished(self) -> None:
        """Older overlays were dropped."""
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
