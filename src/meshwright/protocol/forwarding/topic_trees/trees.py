"""What all trees of topics share: this broker's own interest, and peers that die and return."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.own_topics import OwnTopics
from meshwright.protocol.forwarding.topic_trees.demands import Demands
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.turn import Turn


class TellAgain(ForwardingMessage, frozen=True, gc=False, tag=89):
    """The sender had lost sight of the receiver, and drops what it heard: tell it again."""

    counts_as = "subscription"


class Trees(OwnTopics):
    """One broker's part in the trees of all topics, held together by demands between neighbours."""

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
        """Map each message to its method."""
        return (on(TellAgain, lambda turn, peer, _: self.renew(turn, peer)),)

    def listens_to(self, peer: str) -> bool:
        """True if a peer seems alive; one that does not must tell its demands again later."""
        if peer not in self._seen:
            self._estranged.add(peer)
        return peer in self._seen

    def see(self, turn: Turn, seen: frozenset[str]) -> None:
        """Other brokers are seen alive: mend all trees for the new routes."""
        vanished, returned = self._seen - seen, seen - self._seen
        self._seen = seen
        for demands in self.demands:
            self._estranged |= demands.void(vanished)
        for peer in sorted(returned & self._estranged):
            self._around.tell(turn, peer, TellAgain(self._around.epoch))
        self._estranged -= returned
        self.settle(turn)

    def settle(self, turn: Turn) -> None:
        """Bring all trees in line with the present routes."""
        for demands in self.demands:
            demands.settle(turn)

    def renew(self, turn: Turn, peer: str) -> None:
        """Exchange all demands with a peer anew."""
        for demands in self.demands:
            demands.renew(turn, peer)
