"""Interest on a graph of brokers: each broker tells its neighbours, and only them, what it wants.

What two neighbours told each other is valid for as long as their conversation lasts; a neighbour
that forgot, or may have missed something, is told all again. No broker waits for an answer: frames
find a receiver because their origin knows it; neighbours need its interest to flood frames and to
offer it those that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.own_topics import OwnTopics
from meshwright.protocol.foundation.turn import Turn


class InterestChange(ForwardingMessage, frozen=True, gc=False, tag=90):
    """The sender wants some topics from now on, and others no more."""

    counts_as = "subscription"

    added: tuple[str, ...]
    removed: tuple[str, ...]


class NeighbourKnowledge(NamedTuple):
    """Interest as neighbours told it.

    near: the topics that each neighbour wants.
    own: the topics that this broker wants, which each neighbour was told.
    """

    near: dict[str, tuple[str, ...]]
    own: tuple[str, ...]


class NeighbourInterest(OwnTopics):
    """The topics that this broker wants, and those that its neighbours want."""

    def __init__(self, around: Surroundings, neighbours: tuple[str, ...]) -> None:
        super().__init__()
        self._around = around
        self._neighbours = neighbours
        self._near: dict[str, dict[str, None]] = {}
        # Topics that neighbours were told in an overlay before, until all interest was added.
        self._informed: dict[str, frozenset[str]] = {}

    def wants(self, topic: str) -> bool:
        """True if this broker wants a topic itself."""
        return topic in self._wanted

    def near(self, topic: str) -> Iterable[str]:
        """The neighbours that want a topic, in the order in which they said so."""
        return self._near.get(topic, ())

    def knowledge(self) -> NeighbourKnowledge:
        """The topics that neighbours told and were told."""
        near: dict[str, list[str]] = {peer: [] for peer in self._neighbours}
        for topic, peers in self._near.items():
            for peer in peers:
                near.setdefault(peer, []).append(topic)
        return NeighbourKnowledge(
            {peer: tuple(topics) for peer, topics in near.items()}, tuple(self._wanted)
        )

    def take_over(self, knowledge: NeighbourKnowledge) -> None:
        """Start from what brokers that are still neighbours told and were told."""
        own = frozenset(knowledge.own)
        for peer in self._neighbours:
            if peer in knowledge.near:
                self._informed[peer] = own
                for topic in knowledge.near[peer]:
                    self._near.setdefault(topic, {})[peer] = None

    def settle(self, turn: Turn) -> None:
        """All interest was added: take back topics that neighbours know and nobody wants."""
        informed, self._informed = self._informed, {}
        for peer, topics in informed.items():
            gone = tuple(sorted(topics.difference(self._wanted)))
            if gone:
                self._tell(turn, (peer,), InterestChange(self._around.epoch, (), gone))

    def join(self, turn: Turn, topic: str) -> None:
        uninformed = (
            peer for peer in self._neighbours if topic not in self._informed.get(peer, ())
        )
        self._tell(turn, uninformed, InterestChange(self._around.epoch, (topic,), ()))
        self.installed(turn, topic)

    def leave(self, turn: Turn, topic: str) -> None:
        self._tell(turn, self._neighbours, InterestChange(self._around.epoch, (), (topic,)))

    def is_installed(self, topic: str) -> bool:
        return topic in self._wanted

    def changed(self, turn: Turn, peer: str, message: InterestChange) -> None:
        """A neighbour wants other topics."""
        del turn
        for topic in message.added:
            self._near.setdefault(topic, {})[peer] = None
        for topic in message.removed:
            self._unhear(peer, topic)

    def renew(self, turn: Turn, peer: str) -> None:
        """Exchange everything anew with a peer, which tells its topics again."""
        for topic in [topic for topic, peers in self._near.items() if peer in peers]:
            self._unhear(peer, topic)
        topics = tuple(self._wanted)
        if topics and peer in self._neighbours:
            self._tell(turn, (peer,), InterestChange(self._around.epoch, topics, ()))

    def _tell(self, turn: Turn, peers: Iterable[str], change: InterestChange) -> None:
        for peer in peers:
            self._around.tell(turn, peer, change)

    def _unhear(self, peer: str, topic: str) -> None:
        peers = self._near.get(topic)
        if peers is not None:
            peers.pop(peer, None)
            if not peers:
                del self._near[topic]
