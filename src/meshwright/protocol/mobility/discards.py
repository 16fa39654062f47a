"""Tells brokers to discard a session whose client began a new one, until they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.messages import Discard, DiscardDone


class Discards:
    """What this broker has told others to forget, until they say that it is done."""

    def __init__(
        self, send: Callable[[Turn, str, Any], None], is_removed: Callable[[str], bool]
    ) -> None:
        self._send = send
        self._is_removed = is_removed
        self._unsettled: dict[str, dict[str, Discard]] = {}

    def tell(self, turn: Turn, peer: str, discard: Discard) -> None:
        """Have a peer forget its session of a client, unless its claim is above that of this."""
        if not self._is_removed(peer):
            self._unsettled.setdefault(peer, {})[discard.client] = discard
            self._send(turn, peer, discard)

    def done(self, peer: str, message: DiscardDone) -> None:
        """A peer has forgotten it."""
        unsettled = self._unsettled.get(peer, {})
        discard = unsettled.get(message.client)
        if discard is not None and discard.claim == message.claim:
            del unsettled[message.client]

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Say again what a peer may not have heard."""
        for discard in self._unsettled.get(peer, {}).values():
            self._send(turn, peer, discard)

    def roll_changed(self) -> None:
        """Wait for nobody who is gone for good."""
        for peer in [peer for peer in self._unsettled if self._is_removed(peer)]:
            del self._unsettled[peer]
