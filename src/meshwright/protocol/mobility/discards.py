"""Tells brokers to discard a session whose client began a new one, until they have."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.messages import Discard, DiscardDone
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.open_questions import OpenQuestion, OpenQuestions


class Discards:
    """What this broker has told others to forget, until they say that it is done."""

    def __init__(self, conversations: Conversations, is_removed: Callable[[str], bool]) -> None:
        self._is_removed = is_removed
        # By peer, client and claim.
        self._told: OpenQuestions[tuple[str, str, int], OpenQuestion] = OpenQuestions(conversations)

    def tell(self, turn: Turn, peer: str, discard: Discard) -> None:
        """Have a peer forget its session of a client, unless its claim is above that of this."""
        if not self._is_removed(peer):
            key = (peer, discard.client, discard.claim)
            self._told.ask(turn, key, OpenQuestion(discard, (peer,)))

    def done(self, peer: str, message: DiscardDone) -> None:
        """A peer has forgotten it."""
        self._told.pop((peer, message.client, message.claim), None)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Say again what a peer may not have heard."""
        self._told.peer_renewed(turn, peer)

    def roll_changed(self) -> None:
        """Wait for nobody who is gone for good."""
        for key in [key for key in self._told if self._is_removed(key[0])]:
            del self._told[key]
