"""Interest on a graph of brokers: each tells its neighbours, and only them, what it wants.

What two neighbours told each other holds as long as their conversation does; whoever forgot, or may
have missed something, is told all again. A broker is done when every living neighbour has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from meshwright.protocol.forwarding.answers import Answers
from meshwright.protocol.forwarding.forwarding import Surroundings
from meshwright.protocol.forwarding.own_topics import OwnTopics
from meshwright.protocol.turn import Turn


class InterestChange(msgspec.Struct, frozen=True, gc=False):
    """The sender wants some topics from now on, and others no more."""

    epoch: int
    number: int
    added: tuple[str, ...]
    removed: tuple[str, ...]


class InterestNoted(msgspec.Struct, frozen=True, gc=False):
    """Changes up to this number are known to the sender."""

    epoch: int
    number: int


class NeighbourInterest(OwnTopics):
    """What this broker wants, and what its neighbours in the overlay want."""

    def __init__(self, around: Surroundings, neighbours: tuple[str, ...]) -> None:
        super().__init__()
        self._around = around
        self._neighbours = neighbours
        self._living = neighbours
        self._near: dict[str, dict[str, None]] = {}
        self._answers = Answers()
        self._join_count = 0
        self._joins: dict[str, int] = {}
        self._installed: set[str] = set()

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {
            InterestChange: self._changed,
            InterestNoted: lambda turn, peer, message: self._answers.answered(
                turn, peer, message.number
            ),
        }

    def wants(self, topic: str) -> bool:
        """Whether this broker wants a topic itself."""
        return topic in self._wanted

    def near(self, topic: str) -> Iterable[str]:
        """The neighbours that want a topic, in the order in which they said so."""
        return self._near.get(topic, ())

    def join(self, turn: Turn, topic: str) -> None:
        self._join_count += 1
        number = self._joins[topic] = self._join_count

        def answered(later: Turn) -> None:
            if self._joins.get(topic) == number:
                self._installed.add(topic)
                self.installed(later, topic)

        self._tell(turn, self._neighbours, (topic,), ())
        self._answers.wait(turn, self._living, answered)

    def leave(self, turn: Turn, topic: str) -> None:
        del self._joins[topic]
        self._installed.discard(topic)
        self._tell(turn, self._neighbours, (), (topic,))

    def is_installed(self, topic: str) -> bool:
        return topic in self._installed

    def see(self, turn: Turn, seen: frozenset[str]) -> None:
        """Wait only for neighbours that are seen; others are told again when they return."""
        vanished = [peer for peer in self._living if peer not in seen]
        self._living = tuple(peer for peer in self._neighbours if peer in seen)
        self._answers.resume(turn, self._answers.withdraw(vanished), ())

    def renew(self, turn: Turn, peer: str) -> None:
        """Begin anew with a peer: it tells again what it wants, and is told again."""
        for topic in [topic for topic, peers in self._near.items() if peer in peers]:
            self._unhear(peer, topic)
        if peer in self._neighbours:
            waits = self._answers.renew(peer)
            topics = tuple(self._wanted)
            if topics:
                self._tell(turn, (peer,), topics, ())
            self._answers.resume(turn, waits, (peer,))

    def _tell(
        self, turn: Turn, peers: Iterable[str], added: tuple[str, ...], removed: tuple[str, ...]
    ) -> None:
        for peer in peers:
            number = self._answers.number(peer)
            change = InterestChange(self._around.epoch, number, added, removed)
            self._around.send(turn, peer, change)

    def _changed(self, turn: Turn, peer: str, message: InterestChange) -> None:
        for topic in message.added:
            self._near.setdefault(topic, {})[peer] = None
        for topic in message.removed:
            self._unhear(peer, topic)
        self._around.send(turn, peer, InterestNoted(self._around.epoch, message.number))

    def _unhear(self, peer: str, topic: str) -> None:
        peers = self._near.get(topic)
        if peers is not None:
            peers.pop(peer, None)
            if not peers:
                del self._near[topic]
