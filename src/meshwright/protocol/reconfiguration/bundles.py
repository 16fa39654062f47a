"""Sends the messages that build an overlay together, since nobody waits for them yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.reconfiguration.conversation_marks import ConversationMarks
from meshwright.protocol.reconfiguration.messages import Bundle

BUNDLE = ("bundles",)


class Bundles:
    """Gathers what overlays that are not in force tell each peer, for a moment.

    in_force is the newest epoch whose messages are not held up. conversation_marks notes which of
    them were sent.
    """

    def __init__(
        self,
        me: str,
        gather_us: int,
        conversation_marks: ConversationMarks,
        *,
        send: Callable[[Turn, str, Any], None],
    ) -> None:
        self._me = me
        self._conversation_marks = conversation_marks
        self._gather_us = gather_us
        self._send = send
        self._in_force = 0
        self._singly = 0
        self._gathered: dict[tuple[str, int], list[Any]] = {}

    def tell(self, turn: Turn, peer: str, message: Any) -> None:
        """Send what a forwarding machine tells, now or in a bundle."""
        epoch = message.epoch
        if epoch <= self._in_force or peer == self._me:
            self._send_noted(turn, peer, epoch, message)
        elif epoch == self._singly:
            self._send_noted(turn, peer, epoch, Bundle(epoch, (message,)))
        else:
            if not self._gathered:
                turn.timer(BUNDLE, turn.now_us + self._gather_us)
            self._gathered.setdefault((peer, epoch), []).append(message)

    def send_singly(self, epoch: int) -> None:
        """Gather nothing for this epoch: each message is sent, and counted, by itself."""
        self._singly = epoch

    def release(self, turn: Turn, epoch: int) -> None:
        """An overlay is in force: hold up nothing of it any more."""
        self.flush(turn)
        self._in_force = epoch

    def flush(self, turn: Turn) -> None:
        """Send all that was gathered."""
        gathered, self._gathered = self._gathered, {}
        for (peer, epoch), messages in gathered.items():
            self._send_noted(turn, peer, epoch, Bundle(epoch, tuple(messages)))

    def drop(self, epoch: int) -> None:
        """Forget what was gathered for an overlay that is not to be."""
        for key in [key for key in self._gathered if key[1] == epoch]:
            del self._gathered[key]

    def _send_noted(self, turn: Turn, peer: str, epoch: int, message: Any) -> None:
        self._send(turn, peer, message)
        self._conversation_marks.told(epoch, peer)
