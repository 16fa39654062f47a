"""Interest on a graph of brokers: each tells its neighbours, and only them, what it wants.

What two neighbours told each other holds as long as their conversation does; whoever forgot, or may
have missed something, is told all again. Nobody waits for an answer: frames find a member because
their origin knows it, neighbours need its interest to flood and to offer what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.protocol.forwarding.forwarding import Surroundings
from meshwright.protocol.forwarding.own_topics import OwnTopics
from meshwright.protocol.message import Message
from meshwright.protocol.turn import Turn


class InterestChange(Message, frozen=True, gc=False):
    """The sender wants some topics from now on, and others no more."""

    epoch: int
    added: tuple[str, ...]
    removed: tuple[str, ...]


class NeighbourInterest(OwnTopics):
    """What this broker wants, and what its neighbours in the overlay want."""

    def __init__(self, around: Surroundings, neighbours: tuple[str, ...]) -> None:
        super().__init__()
        self._around = around
        self._neighbours = neighbours
        self._near: dict[str, dict[str, None]] = {}

    def wants(self, topic: str) -> bool:
        """Whether this broker wants a topic itself."""
        return topic in self._wanted

    def near(self, topic: str) -> Iterable[str]:
        """The neighbours that want a topic, in the order in which they said so."""
        return self._near.get(topic, ())

    def join(self, turn: Turn, topic: str) -> None:
        self._tell(turn, self._neighbours, InterestChange(self._around.epoch, (topic,), ()))
        self.installed(turn, topic)

    def leave(self, turn: Turn, topic: str) -> None:
        self._tell(turn, self._neighbours, InterestChange(self._around.epoch, (), (topic,)))

    def is_installed(self, topic: str) -> bool:
        return topic in self._wanted

    def changed(self, turn: Turn, peer: str, message: InterestChange) -> None:
        """A neighbour wants something else."""
        del turn
        for topic in message.added:
            self._near.setdefault(topic, {})[peer] = None
        for topic in message.removed:
            self._unhear(peer, topic)

    def renew(self, turn: Turn, peer: str) -> None:
        """Begin anew with a peer: it tells again what it wants, and is told again."""
        for topic in [topic for topic, peers in self._near.items() if peer in peers]:
            self._unhear(peer, topic)
        topics = tuple(self._wanted)
        if topics and peer in self._neighbours:
            self._tell(turn, (peer,), InterestChange(self._around.epoch, topics, ()))

    def _tell(self, turn: Turn, peers: Iterable[str], change: InterestChange) -> None:
        for peer in peers:
            self._around.send(turn, peer, change)

    def _unhear(self, peer: str, topic: str) -> None:
        peers = self._near.get(topic)
        if peers is not None:
            peers.pop(peer, None)
            if not peers:
                del self._near[topic]
