"""Tells brokers to discard a session whose client began a new one, until they have."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.messages import Discard, DiscardDone
from meshwright.protocol.peers.conversations import Conversations


class Discards:
    """What this broker has told others to forget, until they say that it is done."""

    def __init__(self, conversations: Conversations, is_removed: Callable[[str], bool]) -> None:
        self._conversations = conversations
        self._is_removed = is_removed
        self._unsettled: dict[str, dict[str, Discard]] = {}

    def tell(self, turn: Turn, peer: str, discard: Discard) -> None:
        """Have a peer forget its session of a client, unless its claim is above that of this."""
        if not self._is_removed(peer):
            self._unsettled.setdefault(peer, {})[discard.client] = discard
            self._conversations.send(turn, peer, discard)

    def done(self, peer: str, message: DiscardDone) -> None:
        """A peer has forgotten it."""
        unsettled = self._unsettled.get(peer, {})
        discard = unsettled.get(message.client)
        if discard is not None and discard.claim == message.claim:
            del unsettled[message.client]

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Say again what a peer may not have heard."""
        unsettled = list(self._unsettled.get(peer, {}).values())
        self._conversations.feed(turn, peer, unsettled, self._tell_again)

    def _tell_again(self, turn: Turn, peer: str, discard: Discard) -> None:
        if self._unsettled.get(peer, {}).get(discard.client) is discard:
            self._conversations.send(turn, peer, discard)

    def roll_changed(self) -> None:
        """Wait for nobody who is gone for good."""
        for peer in [peer for peer in self._unsettled if self._is_removed(peer)]:
            del self._unsettled[peer]
