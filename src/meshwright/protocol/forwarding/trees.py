"""What the trees of topics have in common: own interest, and peers that come and go."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from meshwright.protocol.forwarding.demands import Demands
from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.own_topics import OwnTopics
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.turn import Turn


class TellAgain(ForwardingMessage, frozen=True, gc=False, tag=89):
    """I had lost sight of you: what we told each other is void, so tell me again."""

    counts_as = "subscription"


class Trees(OwnTopics):
    """One broker's part in the trees of all topics, kept up by demands between neighbours."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__()
        self._around = around
        self._seen = frozenset(around.overlay.brokers)
        self._estranged: set[str] = set()

    @property
    @abstractmethod
    def demands(self) -> tuple[Demands[Any], ...]:
        """All demands held, in the order in which they are brought in line."""

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (on(TellAgain, lambda turn, peer, _: self.renew(turn, peer)),)

    def listens_to(self, peer: str) -> bool:
        """Whether to hear a peer now; one that is not seen alive tells it again once it is."""
        if peer not in self._seen:
            self._estranged.add(peer)
        return peer in self._seen

    def see(self, turn: Turn, seen: frozenset[str]) -> None:
        """The ways have changed with the brokers seen: mend all trees accordingly."""
        vanished, returned = self._seen - seen, seen - self._seen
        self._seen = seen
        for demands in self.demands:
            self._estranged |= demands.void(vanished)
        for peer in sorted(returned & self._estranged):
            self._around.tell(turn, peer, TellAgain(self._around.epoch))
        self._estranged -= returned
        self.settle(turn)

    def settle(self, turn: Turn) -> None:
        """Bring all trees in line with the ways as they are now."""
        for demands in self.demands:
            demands.settle(turn)

    def renew(self, turn: Turn, peer: str) -> None:
        """Begin anew with a peer: it tells again what stands, and is told again."""
        for demands in self.demands:
            demands.renew(turn, peer)
