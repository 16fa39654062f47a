"""A matching index: who wants this message, among many owners with many filters.

Exact topic filters live in a dict, those with wildcards in a trie, and what they say of a topic is
cached. An exact filter's change drops one topic from the cache, a wildcard's the topics of its
first level (all, if that is a wildcard). Clauses are checked after, one by one, for each message.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from meshwright.filters.cache import TopicCache
from meshwright.filters.clauses import clauses_cover, clauses_hold
from meshwright.filters.filter import Filter
from meshwright.filters.topics import ONE_LEVEL, Levels, has_wildcard, levels_of
from meshwright.filters.trie import TopicTrie
from meshwright.filters.values import Properties, values_by_attribute

Owner = TypeVar("Owner", bound=Hashable)

CACHED_TOPICS_MAX = 65_536


class FilterIndex(Generic[Owner]):
    """Filters by owner; an owner may add a filter several times and must discard it as often.

    Answers are (owner, filter) pairs in the order in which they came, whatever the hash seed.
    """

    def __init__(self, cached_topics_max: int = CACHED_TOPICS_MAX) -> None:
        self._holdings: dict[tuple[Owner, Filter], _Holding[Owner]] = {}
        self._serial = 0
        self._exact: dict[str, dict[_Holding[Owner], None]] = {}
        self._wild: TopicTrie[_Holding[Owner]] = TopicTrie()
        self._cache: TopicCache[_Answer[Owner]] = TopicCache(cached_topics_max)

    def __len__(self) -> int:
        """Number of distinct (owner, filter) pairs."""
        return len(self._holdings)

    def add(self, owner: Owner, wanted: Filter) -> bool:
        """Add a filter of an owner; True if the pair is new."""
        pair = (owner, wanted)
        holding = self._holdings.get(pair)
        if holding is not None:
            holding.count += 1
            return False
        self._serial += 1
        holding = self._holdings[pair] = _Holding(self._serial, pair)
        if has_wildcard(wanted.levels):
            self._wild.add(wanted.levels, holding)
        else:
            self._exact.setdefault(wanted.topic_filter, {})[holding] = None
        self._forget_answers(wanted)
        return True

    def discard(self, owner: Owner, wanted: Filter) -> bool:
        """Take back one addition, if there is one; True if the pair is gone with it."""
        pair = (owner, wanted)
        holding = self._holdings.get(pair)
        if holding is None:
            return False
        holding.count -= 1
        if holding.count:
            return False
        del self._holdings[pair]
        if has_wildcard(wanted.levels):
            self._wild.discard(wanted.levels, holding)
        else:
            del self._exact[wanted.topic_filter][holding]
            if not self._exact[wanted.topic_filter]:
                del self._exact[wanted.topic_filter]
        self._forget_answers(wanted)
        return True

    def match(self, topic: str, properties: Properties = ()) -> tuple[tuple[Owner, Filter], ...]:
        """The pairs that want a message to a valid topic name with these user properties."""
        return self.look_up(topic, properties)[0]

    def look_up(self, topic: str, properties: Properties) -> _Answer[Owner]:
        """The pairs that match, and whether others may for other content on the topic."""
        answer = self._cache.get(topic) or self._find(topic)
        pairs, asks_content = answer
        if not asks_content:
            return answer
        values = values_by_attribute(properties)
        held = [
            pair
            for pair in pairs
            if not (clauses := pair[1].clauses) or clauses_hold(clauses, values)
        ]
        return tuple(held), True

    def taking(self, topic: str) -> tuple[tuple[Owner, Filter], ...]:
        """The pairs whose filter takes a topic name, whatever it asks of the content."""
        return (self._cache.get(topic) or self._find(topic))[0]

    def asks_content(self, topic: str) -> bool:
        """Whether a filter that takes a topic name asks for content besides."""
        return (self._cache.get(topic) or self._find(topic))[1]

    def covering(self, narrow: Filter) -> tuple[tuple[Owner, Filter], ...]:
        """The pairs whose filter covers this one: if there is one, nobody need be told of it."""
        pairs, _ = _answer(self._covering(narrow.topic_filter, narrow.levels))
        return tuple(pair for pair in pairs if clauses_cover(pair[1].clauses, narrow.clauses))

    def _find(self, topic: str) -> _Answer[Owner]:
        answer = _answer(self._covering(topic, levels_of(topic)))
        self._cache.put(topic, answer)
        return answer

    def _covering(self, topic_filter: str, levels: Levels) -> list[_Holding[Owner]]:
        return [*self._exact.get(topic_filter, ()), *self._wild.covering(levels)]

    def _forget_answers(self, changed: Filter) -> None:
        if not has_wildcard(changed.levels):
            self._cache.drop(changed.topic_filter)
        elif changed.levels[0] == ONE_LEVEL:
            self._cache.clear()
        else:
            self._cache.drop_first_level(changed.levels[0])


@dataclass(slots=True, eq=False)
class _Holding(Generic[Owner]):
    """One pair, how often it was added, and its place in the order of all."""

    serial: int
    pair: tuple[Owner, Filter]
    count: int = 1


_Answer = tuple[tuple[tuple[Owner, Filter], ...], bool]


def _answer(holdings: Iterable[_Holding[Owner]]) -> _Answer[Owner]:
    """The pairs in order, and whether any of them asks for content."""
    pairs = tuple(holding.pair for holding in sorted(holdings, key=attrgetter("serial")))
    return pairs, any(wanted.clauses for _, wanted in pairs)
