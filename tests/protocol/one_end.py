"""One broker's conversations with peers that are nobody: what it sends them is looked at."""

from __future__ import annotations

from meshwright.protocol.foundation.effects import SendPeer
from meshwright.protocol.foundation.events import PeerEnvelope
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import (
    Conversations,
    ConversationSettings,
    Envelope,
    Hello,
)


class OneEnd:
    """The end called me; its peers say no more than hello, and that they have got all."""

    def __init__(self, window: int = 100) -> None:
        self.turn = Turn(0)
        settings = ConversationSettings(window=window)
        self.conversations = Conversations("me", 1, settings, handlers={})
        self._generations: dict[str, int] = {}

    def meet(self, peer: str) -> None:
        """A peer is there, or has forgotten all and is there again."""
        generation = self._generations[peer] = self._generations.get(peer, 0) + 1
        self.conversations.link_up(self.turn, peer)
        hello = Hello(generation, self.conversations.progress(peer).own, 0)
        self.conversations.envelope_came(self.turn, PeerEnvelope(peer, hello))

    def acknowledged(self, peer: str) -> None:
        """A peer has got all that was sent to it."""
        progress = self.conversations.progress(peer)
        envelope: Envelope[object] = Envelope(progress.theirs, progress.own, 0, progress.sent)
        self.conversations.envelope_came(self.turn, PeerEnvelope(peer, envelope))

    def sent(self) -> list[tuple[str, object]]:
        """What was sent since the last look, and to whom."""
        effects, self.turn.effects = self.turn.effects, []
        sends = [(one.peer, one.envelope) for one in effects if isinstance(one, SendPeer)]
        return [(peer, one.body) for peer, one in sends if isinstance(one, Envelope) and one.number]
