"""What this broker wants, told to the directory, to origins and to the overlay.

A filter is in force when a majority of the directory has it, every origin known to read its key has
confirmed it (or is lost, and is told when it returns), and the overlay carries it here. A broker
that starts again cannot know what of its last words was heard: it says everything anew.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from meshwright.filters.covering import cover_set
from meshwright.filters.filter import Filter, parse_filter
from meshwright.filters.topics import has_wildcard, levels_cover, levels_of
from meshwright.protocol.directory import Directory
from meshwright.protocol.effects import DiskKey
from meshwright.protocol.entries import Entry
from meshwright.protocol.roads import Roads
from meshwright.protocol.stream import WILDCARDS, Announce, Announced, Joined, Joining
from meshwright.protocol.turn import Action, Turn, nothing

TOPICS_MAX = 65_536


class _Change:
    """One change of an entry on its way to being in force.

    is_repeated: sessions may have relied on it before a crash, so origins owe it what is unchecked.
    """

    __slots__ = ("done", "entry", "is_repeated", "key", "waiting")

    def __init__(self, key: str, done: Action, *, is_repeated: bool) -> None:
        self.key = key
        self.entry = Entry(0, ())
        self.done = done
        self.is_repeated = is_repeated
        self.waiting: dict[str, None] = {"directory": None}

    def settle(self, turn: Turn, part: str) -> None:
        """One part is done; the last one puts the change in force."""
        if self.waiting.pop(part, self) is None and not self.waiting:
            self.done(turn)


class Interest:
    """Counts the filters of local sessions and keeps the network informed.

    informed is called when origins that could not be told of a change now know it.
    """

    def __init__(
        self,
        directory: Directory,
        roads: Roads,
        *,
        send: Callable[[Turn, str, Any], None],
        incarnation: int,
        is_lost: Callable[[str], bool],
        informed: Action,
    ) -> None:
        self._directory = directory
        self._roads = roads
        self._send = send
        self._is_lost = is_lost
        self._informed = informed
        self._version = incarnation << 32
        self._counts: dict[Filter, int] = {}
        # By filter: the first version that has it, for those that came since the start.
        self._added: dict[Filter, int] = {}
        self._entries: dict[str, Entry] = {}
        # Topics found through wildcards, and when somebody last named them.
        self._discovered: dict[str, int] = {}
        self._changes: list[_Change] = []
        self._unrepeated: dict[str, None] = {}
        # By origin and key: the version that it may not have heard of.
        self._given_up: dict[str, dict[str, int]] = {}
        self._wanted_topics: dict[str, bool] = {}

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {Joined: self.joined, Announce: self.announced}

    def restore(self, turn: Turn, disk: dict[DiskKey, Any], wanted: list[Filter]) -> None:
        """After a start: want what the sessions want, and take back what nobody wants any more."""
        former = [str(key[1]) for key in disk if key[0] == "interest"]
        for one in wanted:
            self._counts[one] = self._counts.get(one, 0) + 1
        for one in self._counts:
            self._roads.add_interest(turn, one, nothing)
        self._unrepeated = dict.fromkeys(sorted({*former, *map(key_of, self._counts)}))
        for key in list(self._unrepeated):
            self._publish(turn, self._change(key, nothing, is_repeated=True))

    def filters(self) -> tuple[Filter, ...]:
        """All filters wanted here."""
        return tuple(self._counts)

    def counts(self) -> dict[Filter, int]:
        """How many sessions and shared subscriptions here want each filter."""
        return self._counts

    def found_topics(self) -> tuple[str, ...]:
        """Topics found through wildcards."""
        return tuple(self._discovered)

    def wants(self, topic: str) -> bool:
        """True if some local filter takes the topic, whatever it asks of the content."""
        try:
            return self._wanted_topics[topic]
        except KeyError:
            levels = levels_of(topic)
            answer = any(levels_cover(one.levels, levels) for one in self._counts)
            if len(self._wanted_topics) >= TOPICS_MAX:
                self._wanted_topics.clear()
            self._wanted_topics[topic] = answer
            return answer

    def add(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """A local session wants a filter; done is called when that is in force."""
        count = self._counts.get(wanted, 0)
        self._counts[wanted] = count + 1
        if count:
            self.when_in_force(turn, wanted, done)
            return
        self._wanted_topics.clear()
        self._added[wanted] = self._version + 1
        change = self._change(key_of(wanted), done)
        # The overlay first: once an origin counts this broker in, frames must find the way here.
        self._roads.add_interest(turn, wanted, lambda later: self._publish(later, change))

    def when_in_force(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """Call done when what is under way for a filter's key is in force."""
        under_way = [change for change in self._changes if change.key == key_of(wanted)]
        if not under_way:
            done(turn)
            return
        last = under_way[-1]
        before = last.done

        def both(later: Turn) -> None:
            before(later)
            done(later)

        last.done = both

    def remove(self, turn: Turn, wanted: Filter) -> None:
        """A local session no longer wants a filter."""
        self._counts[wanted] -= 1
        if self._counts[wanted]:
            return
        del self._counts[wanted]
        self._added.pop(wanted, None)
        self._wanted_topics.clear()
        self._publish(turn, self._change(key_of(wanted), nothing))
        if not has_wildcard(wanted.levels):
            # A wildcard may take the topic too; nobody announced it while it was wanted by name.
            self._discover(turn, wanted.topic_filter, nothing)
        self._roads.remove_interest(turn, wanted)
        self._lose(turn, [topic for topic in self._discovered if not self.wants(topic)])

    def forget_found(self, turn: Turn, *, before_us: int, in_use: Container[str]) -> None:
        """Have no overlay carry topics found long ago: who opens one again names it first."""
        found = self._discovered.items()
        self._lose(turn, [t for t, at_us in found if at_us < before_us and t not in in_use])

    def forget_left(self, turn: Turn) -> None:
        """Forget keys under which the network knows no more that this broker was ever there."""
        under_way = {change.key for change in self._changes}
        for keys in self._given_up.values():
            under_way.update(keys)
        for key in [key for key in self._entries if self._directory.said(key) is None]:
            if key not in under_way:
                del self._entries[key]
                turn.forget(("interest", key))

    def joined(self, turn: Turn, peer: str, message: Joined) -> None:
        """An origin confirmed; through a wildcard it may name topics not known here before."""
        for topic in message.topics:
            self._discover(turn, topic, nothing)
        for change in list(self._changes):
            if change.key == message.key and change.entry.version <= message.version:
                change.settle(turn, peer)
        given_up = self._given_up.get(peer, {})
        if given_up.get(message.key, message.version + 1) <= message.version:
            del given_up[message.key]
            self._informed(turn)

    def is_informed(self, origin: str) -> bool:
        """False while an origin may not know all that this broker wants."""
        return not self._unrepeated and not self._given_up.get(origin)

    def is_known_by(self, topic: str, known: tuple[int, int]) -> bool:
        """True if the entries of such versions have a filter that still takes a topic here.

        One is the entry of the topic, one that of wildcards.
        """
        levels = levels_of(topic)
        by_name, by_wildcards = known
        return any(
            self._added.get(one, 0) <= (by_wildcards if has_wildcard(one.levels) else by_name)
            for one in self._counts
            if levels_cover(one.levels, levels)
        )

    def announced(self, turn: Turn, peer: str, message: Announce) -> None:
        """An origin opens a topic that a wildcard of ours takes: get ready, then say so."""
        answer = Announced(message.topic)
        self._discover(turn, message.topic, lambda later: self._send(later, peer, answer))

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """Do not wait for an origin that is lost; it is told when it returns."""
        for change in list(self._changes):
            if peer in change.waiting:
                self._give_up(peer, change)
                change.settle(turn, peer)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Tell a returning origin what it may not know."""
        for key in self._given_up.get(peer, ()):
            self._send(turn, peer, Joining(key, self._entries[key], recover=True))
        for change in self._changes:
            if peer in change.waiting:
                self._send(turn, peer, Joining(change.key, change.entry, recover=False))

    def _give_up(self, origin: str, change: _Change) -> None:
        """Wait no longer for an origin to confirm a change; it may confirm a later one first."""
        given_up = self._given_up.setdefault(origin, {})
        given_up[change.key] = max(change.entry.version, given_up.get(change.key, 0))

    def _change(self, key: str, done: Action, *, is_repeated: bool = False) -> _Change:
        """A change of a key that is under way from now on."""

        def finished(later: Turn) -> None:
            self._changes.remove(change)
            done(later)

        change = _Change(key, finished, is_repeated=is_repeated)
        self._changes.append(change)
        return change

    def _publish(self, turn: Turn, change: _Change) -> None:
        """Put the present filters of a key into the directory, and tell who reads it."""
        key = change.key
        self._version += 1
        entry = self._entries[key] = change.entry = Entry(self._version, self._value(key))
        turn.write(("interest", key), entry.filters)

        def stored(later: Turn, readers: list[str]) -> None:
            for reader in readers:
                if change.is_repeated or self._is_lost(reader):
                    self._give_up(reader, change)
                    self._send(later, reader, Joining(key, entry, recover=True))
                else:
                    change.waiting[reader] = None
                    self._send(later, reader, Joining(key, entry, recover=False))
            change.settle(later, "directory")
            if change.is_repeated:
                del self._unrepeated[key]
                self._informed(later)

        self._directory.put(turn, key, entry, stored)

    def _discover(self, turn: Turn, topic: str, done: Action) -> None:
        """Have the overlay carry a topic that only a wildcard takes."""
        is_known = topic in self._discovered
        if not is_known and not self.wants(topic):
            done(turn)
            return
        self._discovered[topic] = turn.now_us
        if is_known:
            done(turn)
        else:
            self._roads.add_topic(turn, topic, done)

    def _lose(self, turn: Turn, topics: list[str]) -> None:
        for topic in topics:
            del self._discovered[topic]
            self._roads.remove_topic(turn, topic)

    def _value(self, key: str) -> tuple[str, ...]:
        mine = [one for one in self._counts if key_of(one) == key]
        return tuple(sorted(map(str, cover_set(mine))))


def key_of(wanted: Filter) -> str:
    """The directory key that a filter is kept under: its topic, or the key of all wildcards."""
    return WILDCARDS if has_wildcard(wanted.levels) else wanted.topic_filter


def filters_of(entry: Entry) -> list[Filter]:
    """The filters that an entry holds."""
    return [parse_filter(text) for text in entry.filters]
