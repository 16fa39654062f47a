"""What the trees of topics have in common: own interest, and peers that come and go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.errors import CallerError
from meshwright.filters.filter import Filter
from meshwright.filters.topics import has_wildcard
from meshwright.protocol.forwarding.claims import Claims
from meshwright.protocol.forwarding.forwarding import Surroundings
from meshwright.protocol.turn import Action, Turn


class TellAgain(msgspec.Struct, frozen=True, gc=False):
    """I had lost sight of you: what we told each other is void, so tell me again."""

    epoch: int


class Trees(ABC):
    """One broker's part in the trees of all topics, kept up by claims between neighbours."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._wanted: dict[str, dict[Filter, int]] = {}
        self._waiting: dict[str, list[Action]] = {}
        self._seen = frozenset(around.overlay.brokers)
        self._estranged: set[str] = set()

    @property
    @abstractmethod
    def claims(self) -> tuple[Claims[Any], ...]:
        """All claims held, in the order in which they are brought in line."""

    @abstractmethod
    def join(self, turn: Turn, topic: str) -> None:
        """Make this broker a member of a topic's tree; ends in a call of installed."""

    @abstractmethod
    def leave(self, turn: Turn, topic: str) -> None:
        """End this broker's membership in a topic's tree."""

    @abstractmethod
    def is_installed(self, topic: str) -> bool:
        """Whether the tree reaches this broker as a member."""

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {TellAgain: lambda turn, peer, _: self.renew(turn, peer)}

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """Want a topic; done is called once frames on it come here."""
        if has_wildcard(wanted.levels):
            raise CallerError(f"{str(wanted)!r} is not a single topic; add its topics one by one.")
        topic = wanted.topic_filter
        filters = self._wanted.setdefault(topic, {})
        is_first = not filters
        filters[wanted] = filters.get(wanted, 0) + 1
        if not is_first and self.is_installed(topic):
            done(turn)
            return
        self._waiting.setdefault(topic, []).append(done)
        if is_first:
            self.join(turn, topic)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        """Want a topic no more, once every filter added on it is removed as often."""
        topic = wanted.topic_filter
        filters = self._wanted.get(topic, {})
        count = filters.pop(wanted, 0)
        if count > 1:
            filters[wanted] = count - 1
        elif count == 1 and not filters:
            del self._wanted[topic]
            self.leave(turn, topic)
            # Nothing is left to wait for, and nobody shall wait forever.
            self.installed(turn, topic)

    def installed(self, turn: Turn, topic: str) -> None:
        """The tree reaches this broker: tell who waited for it."""
        for done in self._waiting.pop(topic, ()):
            done(turn)

    def listens_to(self, peer: str) -> bool:
        """Whether a peer may tell something now; one that is not seen tells it when it is."""
        if peer not in self._seen:
            self._estranged.add(peer)
        return peer in self._seen

    def see(self, turn: Turn, seen: frozenset[str]) -> None:
        """The ways have changed with the brokers seen: mend all trees accordingly."""
        vanished, returned = self._seen - seen, seen - self._seen
        self._seen = seen
        for claims in self.claims:
            self._estranged |= claims.void(vanished)
        for peer in sorted(returned & self._estranged):
            self._around.send(turn, peer, TellAgain(self._around.epoch))
        self._estranged -= returned
        for claims in self.claims:
            claims.settle(turn)

    def renew(self, turn: Turn, peer: str) -> None:
        """Begin anew with a peer: it tells again what stands, and is told again."""
        for claims in self.claims:
            claims.renew(turn, peer)
