"""Gathers the messages that build an overlay into bundles, to send fewer messages.

The overlay is not in force yet, so nobody waits for a single one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.reconfiguration.conversation_marks import ConversationMarks
from meshwright.protocol.reconfiguration.messages import Bundle

BUNDLE = ("bundles",)


class Bundles:
    """Gathers, for gather_us, what the machines of overlays that are not in force tell each peer.

    conversation_marks: notes the messages sent.
    _in_force: messages up to this epoch are sent at once.
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
        """Send a message of a forwarding machine, at once or later in a bundle."""
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
        """Send messages of this epoch one by one, so that each is counted."""
        self._singly = epoch

    def release(self, turn: Turn, epoch: int) -> None:
        """An overlay is in force: send its messages at once from now on."""
        self.flush(turn)
        self._in_force = epoch

    def flush(self, turn: Turn) -> None:
        """Send all bundles."""
        gathered, self._gathered = self._gathered, {}
        for (peer, epoch), messages in gathered.items():
            self._send_noted(turn, peer, epoch, Bundle(epoch, tuple(messages)))

    def drop(self, epoch: int) -> None:
        """Forget the messages gathered for an overlay that was given up."""
        for key in [key for key in self._gathered if key[1] == epoch]:
            del self._gathered[key]

    def _send_noted(self, turn: Turn, peer: str, epoch: int, message: Any) -> None:
        self._send(turn, peer, message)
        self._conversation_marks.told(epoch, peer)
