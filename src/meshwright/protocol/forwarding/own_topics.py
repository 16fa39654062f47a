"""The topics that this broker wants itself, counted, and actions that wait for their frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from meshwright.errors import CallerError
from meshwright.filters.filter import Filter
from meshwright.filters.topics import has_wildcard
from meshwright.protocol.foundation.turn import Action, Turn

Key = TypeVar("Key", bound=Hashable)


class WantedCounts(Generic[Key]):
    """Keys that are wanted, each with its filters and how often each was added."""

    def __init__(self) -> None:
        self._filters: dict[Key, dict[Filter, int]] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._filters

    def __iter__(self) -> Iterator[Key]:
        return iter(self._filters)

    def add(self, key: Key, wanted: Filter) -> bool:
        """Count a filter; True if it is the first of its key."""
        filters = self._filters.setdefault(key, {})
        is_first = not filters
        filters[wanted] = filters.get(wanted, 0) + 1
        return is_first

    def discard(self, key: Key, wanted: Filter) -> bool:
        """Take back one addition, if there is one; True if the key is gone with it."""
        filters = self._filters.get(key, {})
        count = filters.pop(wanted, 0)
        if count > 1:
            filters[wanted] = count - 1
        is_last = count == 1 and not filters
        if is_last:
            del self._filters[key]
        return is_last


class OwnTopics(ABC):
    """Own interest on a design that routes by topic."""

    def __init__(self) -> None:
        self._wanted: WantedCounts[str] = WantedCounts()
        self._waiting: dict[str, list[Action]] = {}

    @abstractmethod
    def join(self, turn: Turn, topic: str) -> None:
        """Make this broker a receiver of a topic; ends in a call of installed."""

    @abstractmethod
    def leave(self, turn: Turn, topic: str) -> None:
        """Take this broker off the receivers of a topic."""

    @abstractmethod
    def is_installed(self, topic: str) -> bool:
        """True if frames on the topic reach this broker as a receiver."""

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """Want a topic; done is called once frames on it come here."""
        if has_wildcard(wanted.levels):
            raise CallerError(f"{str(wanted)!r} is not a single topic; add its topics one by one.")
        topic = wanted.topic_filter
        is_first = self._wanted.add(topic, wanted)
        if not is_first and self.is_installed(topic):
            done(turn)
            return
        self._waiting.setdefault(topic, []).append(done)
        if is_first:
            self.join(turn, topic)

    def inherit(self, topics: Iterable[str]) -> tuple[Filter, ...]:
        """Want topics of which all is known already; returns filters to remove them again."""
        inherited = tuple(map(Filter, topics))
        for wanted in inherited:
            self._wanted.add(wanted.topic_filter, wanted)
        return inherited

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        """Want a topic no more, once every filter added on it is removed as often."""
        topic = wanted.topic_filter
        if self._wanted.discard(topic, wanted):
            self.leave(turn, topic)
            # The topic is not wanted any more, so nothing need wait for it.
            self.installed(turn, topic)

    def installed(self, turn: Turn, topic: str) -> None:
        """Frames on the topic reach this broker: call the actions that waited for it."""
        for done in self._waiting.pop(topic, ()):
            done(turn)
