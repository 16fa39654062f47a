"""What an origin knows of other brokers' interest, and how it reads that from the directory."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from meshwright.filters.filter import Filter, parse_filter
from meshwright.filters.index import FilterIndex
from meshwright.filters.names import TopicNames
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.directory.entries import WILDCARDS, Entries, Entry, EntryChange
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.streams.messages import Joining

# Interested brokers, each with its filters on content, or none if it wants everything.
Wanted = dict[str, tuple[Filter, ...]]

NOTHING_SAID = Entry(0, None)


class KnownInterest:
    """Entries of the directory by key, and the brokers that want each topic by them."""

    __slots__ = ("_entries", "_left_out", "_names", "_wanted", "_wild")

    def __init__(self) -> None:
        self._left_out: frozenset[str] = frozenset()
        self._entries: dict[str, Entries] = {}
        self._wild: FilterIndex[str] = FilterIndex()
        self._wanted: dict[str, Wanted] = {}
        # The topics asked for: a wildcard changes the answers for some of them only. One whose
        # answer is void stays among them, as its stream goes by the former answer until then.
        self._names = TopicNames()

    def learn(self, key: str, entries: Entries) -> None:
        """Take in entries that are newer; what was computed from older ones is dropped."""
        known = self._entries.setdefault(key, {})
        for name, entry in entries.items():
            held = known.get(name)
            if held is None or held.version < entry.version:
                known[name] = entry
                self._replaced(key, name, held, entry)

    def hear(self, peer: str, message: Joining) -> list[str] | None:
        """A broker tells its entry; returns the topics for which that matters.

        Returns None if the broker must send the whole entry, as the version before is not known.
        The entry may have been read before for one topic; from now on it counts for all others,
        too.
        """
        entries, entry = self._entries.setdefault(message.key, {}), message.entry
        held = entries.get(peer)
        if held is not None and held.version >= entry.version:
            return self._told(message)
        if message.change is not None:
            made = message.change.applied_to(held, entry.version)
            if made is None:
                return None
            entry = made
        entries[peer] = entry
        void = self._replaced(message.key, peer, held, entry, message.change)
        if message.change is None:
            void = list(dict.fromkeys((*void, *self._told(message))))
        return void

    def entries(self, key: str) -> Entries:
        """The entries known under a key now."""
        return dict(self._entries.get(key, {}))

    def learn_all(self, key: str, entries: Entries, before: Entries) -> None:
        """Take in all entries of a key; before: those known when the reading began.

        A broker that is not among them any more has left, unless it told a new entry meanwhile.
        """
        known = self._entries.setdefault(key, {})
        gone = [name for name in before if name not in entries and known.get(name) == before[name]]
        for name in gone:
            self._replaced(key, name, known.pop(name), NOTHING_SAID)
        self.learn(key, entries)

    def forget(self, topic: str) -> None:
        """Forget a topic that nobody asks for any more; it is read anew when needed."""
        self._entries.pop(topic, None)
        self._wanted.pop(topic, None)
        self._names.discard(topic)

    def leave_out(self, brokers: frozenset[str]) -> None:
        """Let these brokers want nothing, whatever their entries say."""
        self._left_out = brokers
        self._wanted.clear()

    def brokers(self) -> list[str]:
        """All brokers of which an entry is known."""
        return sorted({name for entries in self._entries.values() for name in entries})

    def by_name(self, topic: str) -> set[str]:
        """The brokers that want a topic by its name, not only through a wildcard."""
        return {name for name, entry in self._entries.get(topic, {}).items() if entry.filters}

    def versions(self, broker: str, topic: str) -> tuple[int, int]:
        """The versions of a broker's two entries that decide whether it wants a topic."""
        by_name = self._entries.get(topic, {}).get(broker, NOTHING_SAID)
        by_wildcards = self._entries.get(WILDCARDS, {}).get(broker, NOTHING_SAID)
        return by_name.version, by_wildcards.version

    def wanted(self, topic: str) -> Wanted:
        """The brokers that want a topic; the same object until something is learnt."""
        wanted = self._wanted.get(topic)
        if wanted is None:
            wanted = self._wanted[topic] = self._find(topic)
            self._names.add(topic)
        return wanted

    def taken_by(self, texts: Iterable[str]) -> list[str]:
        """The topics asked for that one of these filters matches."""
        taken = (topic for text in texts for topic in self._names.taken_by(_parsed(text)))
        return list(dict.fromkeys(taken))

    def _replaced(
        self,
        key: str,
        name: str,
        before: Entry | None,
        entry: Entry,
        change: EntryChange | None = None,
    ) -> list[str]:
        """A broker's entry has changed; returns the topics for which that matters."""
        void = [key]
        if key == WILDCARDS:
            change = change or _difference((before or NOTHING_SAID).filters, entry.filters)
            for text in change.removed:
                self._wild.discard(name, _parsed(text))
            for text in change.added:
                self._wild.add(name, _parsed(text))
            void = self.taken_by((*change.removed, *change.added))
        for topic in void:
            self._wanted.pop(topic, None)
        return void

    def _told(self, message: Joining) -> list[str]:
        """The topics that a message is about, whatever was known of them before."""
        if message.key != WILDCARDS:
            return [message.key]
        change = message.change or EntryChange(0, (), ())
        texts = (*message.entry.filters, *message.added, *change.added, *change.removed)
        return self.taken_by(dict.fromkeys(texts))

    def _find(self, topic: str) -> Wanted:
        """The brokers that want a topic, in the order of their names."""
        taking: dict[str, list[Filter]] = {}
        for name, entry in self._entries.get(topic, {}).items():
            if entry.filters:
                taking[name] = [_parsed(text) for text in entry.filters]
        for name, wanted in self._wild.taking(topic):
            taking.setdefault(name, []).append(wanted)
        left_out = self._left_out
        return {
            name: tuple(filters) if all(one.clauses for one in filters) else ()
            for name, filters in sorted(taking.items())
            if name not in left_out
        }


def _difference(former: tuple[str, ...], latter: tuple[str, ...]) -> EntryChange:
    had, has = dict.fromkeys(former), dict.fromkeys(latter)
    added = tuple(one for one in has if one not in had)
    return EntryChange(0, added, tuple(one for one in had if one not in has))


# Many brokers want the same, and all origins of a process ask what takes the same topics.
@lru_cache(maxsize=65_536)
def _parsed(text: str) -> Filter:
    return parse_filter(text)


class InterestReading:
    """Reads the directory for one origin, and has KnownInterest learn what it finds.

    Interest in a topic is under the topic's own key and under the key of wildcards, which all
    topics share. A reading must begin after the publication for which it is made was taken. So a
    reading of wildcards that has begun does not count for topics that come later; these share the
    next one.
    """

    def __init__(self, directory: Directory, known: KnownInterest) -> None:
        self._directory = directory
        self._known = known
        self._is_reading_wildcards = False
        self._next_actions: list[Action] = []

    def read(self, turn: Turn, topic: str, done: Action) -> None:
        """Read all entries by which a broker may want a topic."""

        def got_topic(later: Turn) -> None:
            self._next_actions.append(done)
            if not self._is_reading_wildcards:
                self._read_wildcards(later)

        self._read(turn, topic, got_topic)

    def _read_wildcards(self, turn: Turn) -> None:
        self._is_reading_wildcards = True
        actions, self._next_actions = self._next_actions, []

        def got_wildcards(later: Turn) -> None:
            self._is_reading_wildcards = False
            for action in actions:
                action(later)
            if self._next_actions and not self._is_reading_wildcards:
                self._read_wildcards(later)

        self._read(turn, WILDCARDS, got_wildcards)

    def _read(self, turn: Turn, key: str, done: Action) -> None:
        before = self._known.entries(key)

        def got(later: Turn, entries: Entries) -> None:
            self._known.learn_all(key, entries, before)
            done(later)

        self._directory.get(turn, key, got, known=before)
