"""What an origin knows of the interest of other brokers, and who of them wants a topic."""

from __future__ import annotations

from functools import lru_cache

from meshwright.filters.filter import Filter, parse_filter
from meshwright.filters.topics import levels_cover, levels_of
from meshwright.protocol.entries import Entries, Entry, merge
from meshwright.protocol.stream import WILDCARDS

# Interested brokers, each with its filters on content, or none if it wants everything.
Wanted = dict[str, tuple[Filter, ...]]

NOTHING_SAID = Entry(0, None)


class KnownInterest:
    """Entries of the directory by key, and what follows from them for each topic."""

    __slots__ = ("_entries", "_left_out", "_wanted")

    def __init__(self) -> None:
        self._left_out: frozenset[str] = frozenset()
        self._entries: dict[str, Entries] = {}
        self._wanted: dict[str, Wanted] = {}

    def learn(self, key: str, entries: Entries) -> None:
        """Take in entries; what followed from others under their key is void."""
        if merge(self._entries.setdefault(key, {}), entries):
            self._void(key)

    def entries(self, key: str) -> Entries:
        """What is known under a key now."""
        return dict(self._entries.get(key, {}))

    def learn_all(self, key: str, entries: Entries, before: Entries) -> None:
        """Take in all entries of a key, and what was known before they were asked for.

        Who is no longer among them has left, and that is forgotten; unless it came back since.
        """
        known = self._entries.setdefault(key, {})
        gone = [name for name in before if name not in entries and known.get(name) == before[name]]
        for name in gone:
            del known[name]
        self.learn(key, entries)
        if gone:
            self._void(key)

    def forget(self, topic: str) -> None:
        """Nobody asks for a topic any more, until it is read anew."""
        self._entries.pop(topic, None)
        self._wanted.pop(topic, None)

    def leave_out(self, brokers: frozenset[str]) -> None:
        """Let these brokers want nothing, whatever they said, and all others what they said."""
        self._left_out = brokers
        self._wanted.clear()

    def brokers(self) -> list[str]:
        """Everybody who said anything."""
        return sorted({name for entries in self._entries.values() for name in entries})

    def by_name(self, topic: str) -> set[str]:
        """The brokers that want a topic by its name, not only through a wildcard."""
        return {name for name, entry in self._entries.get(topic, {}).items() if entry.filters}

    def versions(self, broker: str, topic: str) -> tuple[int, int]:
        """Which entries of a broker say whether it wants a topic: by its name, and by wildcards."""
        by_name = self._entries.get(topic, {}).get(broker, NOTHING_SAID)
        by_wildcards = self._entries.get(WILDCARDS, {}).get(broker, NOTHING_SAID)
        return by_name.version, by_wildcards.version

    def wanted(self, topic: str) -> Wanted:
        """Who wants a topic; the very same answer if nothing was learnt meanwhile."""
        wanted = self._wanted.get(topic)
        if wanted is None:
            wanted = self._wanted[topic] = self._find(topic)
        return wanted

    def _void(self, key: str) -> None:
        if key == WILDCARDS:
            self._wanted.clear()
        else:
            self._wanted.pop(key, None)

    def _find(self, topic: str) -> Wanted:
        found: Wanted = {}
        left_out = self._left_out
        for key in (topic, WILDCARDS):
            for name, entry in self._entries.get(key, {}).items():
                filters = _taking(entry.filters, topic)
                if filters is None or name in left_out:
                    continue
                before = found.get(name)
                if before is None:
                    found[name] = filters
                else:
                    found[name] = before + filters if before and filters else ()
        return dict(sorted(found.items()))


# Many brokers want the same, and all origins of a process ask what takes the same topics.
@lru_cache(maxsize=65_536)
def _taking(texts: tuple[str, ...], topic: str) -> tuple[Filter, ...] | None:
    """Those of the filters that take a topic, none if one asks nothing of the content.

    None if no filter takes the topic.
    """
    levels = levels_of(topic)
    taking = tuple(one for one in map(parse_filter, texts) if levels_cover(one.levels, levels))
    if not taking:
        return None
    return taking if all(one.clauses for one in taking) else ()
