"""What this broker's clients want, told to the directory, to origins and to the overlay.

A filter is in force when a majority of the directory has it, every origin known to read its key has
confirmed it (or is lost, and is told when it returns), and the overlay carries it here. A broker
that starts again cannot know what of its last words was heard: it says everything anew.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import islice
from typing import Any

from meshwright.filters.filter import Filter
from meshwright.filters.index import FilterIndex
from meshwright.filters.names import TopicNames
from meshwright.filters.topics import has_wildcard
from meshwright.model.publication import Publication
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.directory.entries import WILDCARDS, Entry, EntryChange
from meshwright.protocol.forwarding.by_epoch import ForwardingByEpoch
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.slices import PIECE, Slices
from meshwright.protocol.foundation.turn import Action, Turn, nothing
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.streams.messages import Announce, Announced, Joined, Joining

# Stands for the directory among those who confirm a change; no broker has this name.
DIRECTORY = ""


class _Change:
    """One change of an entry on its way to being in force.

    added: filters that it has and no entry before it. difference: what it is beyond the entry
    before it, if that is less to tell than all. waiting: who has not confirmed it.
    is_repeated: sessions may have relied on it before a crash, so origins owe it what is unchecked.
    """

    __slots__ = ("actions", "added", "difference", "entry", "is_repeated", "key", "waiting")

    def __init__(self, key: str, *, is_repeated: bool = False) -> None:
        self.key = key
        self.entry = Entry(0, ())
        self.added: dict[str, None] = {}
        self.difference: EntryChange | None = None
        self.actions: list[Action] = []
        self.is_repeated = is_repeated
        self.waiting: dict[str, None] = {DIRECTORY: None}


class Interest:
    """Counts the filters of local sessions and keeps the network informed.

    Of each key one entry at a time is on its way to the directory; what changes meanwhile is
    gathered and goes with the next. It tells when origins that could not be told of a change now
    know it.
    """

    def __init__(
        self,
        directory: Directory,
        forwarding: ForwardingByEpoch,
        *,
        conversations: Conversations,
        incarnation: int,
        slices: Slices,
    ) -> None:
        self._directory = directory
        self._forwarding = forwarding
        self._conversations = conversations
        self._send = conversations.send
        self._slices = slices
        self._version = incarnation << 32
        self._counts: dict[Filter, int] = {}
        self._index: FilterIndex[None] = FilterIndex()
        # By key: the texts of the filters that count, in the order in which they came.
        self._texts: dict[str, dict[str, None]] = {}
        # By key: what has come (True) and gone since its entry was told, by the texts of filters.
        self._untold: dict[str, dict[str, bool]] = {}
        # By filter: the first version that has it, for those that came since the start.
        self._added: dict[Filter, int] = {}
        self._entries: dict[str, Entry] = {}
        # Topics found through wildcards, and when somebody last named them.
        self._discovered: dict[str, int] = {}
        self._discovered_names = TopicNames()
        # Those of them that a filter took which is gone; perhaps nobody wants them any more.
        self._doubted: dict[str, None] = {}
        # Filters that no overlay carries here yet, and what is to be done when they are in force.
        self._carrying: dict[Filter, list[Action]] = {}
        # By key: what is told to others, what waits to be, and whether the directory is at it.
        self._in_flight: dict[str, dict[_Change, None]] = {}
        self._gathered: dict[str, _Change] = {}
        self._storing: dict[str, None] = {}
        self._unrepeated: dict[str, None] = {}
        # By origin and key: the version that it may not have heard of.
        self._given_up: dict[str, dict[str, int]] = {}

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(Joined, self.joined),
            on(Announce, self.announced),
        )

    def restore(self, turn: Turn, disk: dict[DiskKey, Any], wanted: list[Filter]) -> None:
        """After a start, announce what sessions want, and withdraw what none wants any more."""
        former = [str(key[1]) for key in disk if key[0] == "interest"]
        for one in wanted:
            self._count(one)
        for one in self._counts:
            self._forwarding.add_interest(turn, one, nothing)
        self._unrepeated = dict.fromkeys(sorted({*former, *map(key_of, self._counts)}))
        for key in list(self._unrepeated):
            self._publish(turn, _Change(key, is_repeated=True))

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
        """True if a local filter matches the topic, whatever its clause asks."""
        return bool(self._index.taking(topic))

    def matches(self, publication: Publication) -> bool:
        """True if a local filter matches a publication, content included."""
        return bool(self._index.match(publication.topic, publication.properties))

    def add(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """A local session wants a filter; done is called when that is in force."""
        if not self._count(wanted):
            self.when_in_force(turn, wanted, done)
            return
        self._added[wanted] = self._version + 1
        waiting = self._carrying[wanted] = [done]

        def carried(later: Turn) -> None:
            if self._carrying.get(wanted) is waiting:
                del self._carrying[wanted]
            change = self._gather(key_of(wanted))
            change.added[str(wanted)] = None
            change.actions += waiting
            self._publish_gathered(later, change.key)

        # The overlay first: once an origin counts this broker in, frames must find the way here.
        self._forwarding.add_interest(turn, wanted, carried)

    def when_in_force(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """Call done when the changes under way for a filter's key are in force."""
        key = key_of(wanted)
        last = self._gathered.get(key) or next(reversed(self._in_flight.get(key, {})), None)
        if wanted in self._carrying:
            self._carrying[wanted].append(done)
        elif last is not None:
            last.actions.append(done)
        else:
            done(turn)

    def remove(self, turn: Turn, wanted: Filter) -> None:
        """A local session no longer wants a filter."""
        self._counts[wanted] -= 1
        if self._counts[wanted]:
            return
        self._uncount(wanted)
        self._gather(key_of(wanted))
        self._publish_gathered(turn, key_of(wanted))
        if not has_wildcard(wanted.levels):
            # A wildcard may take the topic too; nobody announced it while it was wanted by name.
            self._discover(turn, wanted.topic_filter, nothing)
        self._forwarding.remove_interest(turn, wanted)
        # Filters that go together may take the same topics: who still wants those is asked once.
        found = self._discovered_names.taken_by(wanted)
        if found and not self._doubted:
            self._slices.add(turn, self._lose_unwanted)
        self._doubted.update(dict.fromkeys(found))

    def forget_found(self, turn: Turn, *, before_us: int, in_use: Container[str]) -> None:
        """Stop carrying topics found long ago through wildcards; origins announce them anew."""
        found = self._discovered.items()
        self._lose(turn, [t for t, at_us in found if at_us < before_us and t not in in_use])

    def forget_left(self, turn: Turn) -> None:
        """Forget keys once all replicas have forgotten this broker's entry under them."""
        in_flight = {*self._in_flight, *self._gathered}
        for keys in self._given_up.values():
            in_flight.update(keys)
        for key in [key for key in self._entries if self._directory.said(key) is None]:
            if key not in in_flight:
                del self._entries[key]
                turn.forget(("interest", key))

    def joined(self, turn: Turn, peer: str, message: Joined) -> None:
        """An origin has confirmed an entry; it may name topics that a wildcard found there."""
        if message.is_unknown:
            waiting = [one for one in self._waiting_for(peer) if one.key == message.key]
            if waiting:
                recover = self._has_missed(peer, message.key)
                added = () if recover else tuple(text for one in waiting for text in one.added)
                whole = Joining(message.key, self._entries[message.key], recover, added)
                self._send(turn, peer, whole)
            return
        for topic in message.topics:
            self._discover(turn, topic, nothing)
        for change in list(self._in_flight.get(message.key, ())):
            if change.entry.version <= message.version:
                self._settle(turn, change, peer)
        given_up = self._given_up.get(peer, {})
        if given_up.get(message.key, message.version + 1) <= message.version:
            del given_up[message.key]
            turn.facts.origins_informed.tell(turn)

    def is_informed(self, origin: str) -> bool:
        """False while an origin may not know all that this broker wants."""
        return not self._unrepeated and not self._given_up.get(origin)

    def is_known_by(self, topic: str, known: tuple[int, int]) -> bool:
        """True if entries of these versions have a filter that still matches a topic here.

        known: the versions of the topic's entry and of the entry of wildcards.
        """
        by_name, by_wildcards = known
        return any(
            self._added.get(one, 0) <= (by_wildcards if has_wildcard(one.levels) else by_name)
            for _, one in self._index.taking(topic)
        )

    def announced(self, turn: Turn, peer: str, message: Announce) -> None:
        """An origin opens a topic that a wildcard here matches: have it carried, then say so."""
        answer = Announced(message.topic)
        self._discover(turn, message.topic, lambda later: self._send(later, peer, answer))

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """Do not wait for an origin that is lost; it is told when it returns."""
        for change in self._waiting_for(peer):
            self._give_up(peer, change)
            self._settle(turn, change, peer)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Tell an origin that comes back the entries that it may not know."""
        given_up = list(self._given_up.get(peer, ()))
        self._conversations.feed(turn, peer, given_up, self._tell_given_up)
        for change in self._waiting_for(peer):
            if not self._has_missed(peer, change.key):
                self._send(turn, peer, _joining(change))

    def _tell_given_up(self, turn: Turn, origin: str, key: str) -> None:
        if key in self._given_up[origin]:
            self._send(turn, origin, Joining(key, self._entries[key], recover=True))

    def _has_missed(self, origin: str, key: str) -> bool:
        """True if an origin has yet to confirm what it missed of a key while it was lost."""
        return key in self._given_up.get(origin, ())

    def _waiting_for(self, peer: str) -> list[_Change]:
        """The changes that a peer has not confirmed."""
        every = (change for changes in self._in_flight.values() for change in changes)
        return [change for change in every if peer in change.waiting]

    def _give_up(self, origin: str, change: _Change) -> None:
        """Wait no longer for an origin to confirm a change; it may confirm a later one first."""
        given_up = self._given_up.setdefault(origin, {})
        given_up[change.key] = max(change.entry.version, given_up.get(change.key, 0))

    def _count(self, wanted: Filter) -> bool:
        """Count a filter; True if it is new."""
        count = self._counts[wanted] = self._counts.get(wanted, 0) + 1
        if count > 1:
            return False
        self._index.add(None, wanted)
        self._texts.setdefault(key_of(wanted), {})[str(wanted)] = None
        self._note(wanted, has_come=True)
        return True

    def _uncount(self, wanted: Filter) -> None:
        del self._counts[wanted]
        self._added.pop(wanted, None)
        self._index.discard(None, wanted)
        texts = self._texts[key_of(wanted)]
        del texts[str(wanted)]
        if not texts:
            del self._texts[key_of(wanted)]
        self._note(wanted, has_come=False)

    def _note(self, wanted: Filter, *, has_come: bool) -> None:
        """Note that a filter came or went; one that did both needs not be told."""
        untold = self._untold.setdefault(key_of(wanted), {})
        if untold.pop(str(wanted), has_come) is has_come:
            untold[str(wanted)] = has_come

    def _gather(self, key: str) -> _Change:
        """The change of a key that is told next."""
        change = self._gathered.get(key)
        if change is None:
            change = self._gathered[key] = _Change(key)
        return change

    def _publish_gathered(self, turn: Turn, key: str) -> None:
        if key in self._gathered and key not in self._storing:
            self._publish(turn, self._gathered.pop(key))

    def _publish(self, turn: Turn, change: _Change) -> None:
        """Write the present filters of a key to the directory, and tell its readers."""
        key = change.key
        self._in_flight.setdefault(key, {})[change] = None
        self._storing[key] = None
        self._version += 1
        entry = self._next_entry(change)
        # Only that there is an entry counts after a crash: what it has is what sessions want then.
        turn.write(("interest", key), ())

        def stored(later: Turn, readers: list[str]) -> None:
            for reader in readers:
                is_lost = change.is_repeated or self._conversations.is_lost(reader)
                if not is_lost:
                    change.waiting[reader] = None
                if is_lost or self._has_missed(reader, key):
                    self._give_up(reader, change)
                    self._send(later, reader, Joining(key, entry, recover=True))
                else:
                    self._send(later, reader, _joining(change))
            del self._storing[key]
            self._settle(later, change, DIRECTORY)
            if change.is_repeated:
                del self._unrepeated[key]
                later.facts.origins_informed.tell(later)
            self._publish_gathered(later, key)

        self._directory.put(turn, key, entry, stored, change=change.difference)

    def _next_entry(self, change: _Change) -> Entry:
        """The entry of a key as it is from now on."""
        key, untold = change.key, self._untold.pop(change.key, {})
        before = self._entries.get(key)
        if before is not None and before.value:
            come = tuple(text for text, has_come in untold.items() if has_come)
            gone = tuple(text for text, has_come in untold.items() if not has_come)
            change.difference = EntryChange(before.version, come, gone)
        change.added.update((text, None) for text, has_come in untold.items() if has_come)
        entry = Entry(self._version, tuple(self._texts.get(key, ())))
        if not entry.value:
            change.difference = None
        self._entries[key] = change.entry = entry
        return entry

    def _settle(self, turn: Turn, change: _Change, part: str) -> None:
        """One part of a change is done; the last one puts it in force."""
        if change.waiting.pop(part, self) is not None or change.waiting:
            return
        changes = self._in_flight[change.key]
        del changes[change]
        if not changes:
            del self._in_flight[change.key]
        for action in change.actions:
            action(turn)

    def _discover(self, turn: Turn, topic: str, done: Action) -> None:
        """Have the overlay carry a topic that only a wildcard matches."""
        is_known = topic in self._discovered
        if not is_known and not self.wants(topic):
            done(turn)
            return
        self._discovered[topic] = turn.now_us
        if is_known:
            done(turn)
        else:
            self._discovered_names.add(topic)
            self._forwarding.add_topic(turn, topic, done)

    def _lose_unwanted(self, turn: Turn) -> bool:
        """Look at some of the topics that are in doubt; True if there are more."""
        piece = list(islice(self._doubted, PIECE))
        for topic in piece:
            del self._doubted[topic]
        self._lose(turn, [one for one in piece if one in self._discovered and not self.wants(one)])
        return bool(self._doubted)

    def _lose(self, turn: Turn, topics: list[str]) -> None:
        for topic in topics:
            del self._discovered[topic]
            self._discovered_names.discard(topic)
            self._forwarding.remove_topic(turn, topic)


def key_of(wanted: Filter) -> str:
    """The directory key that a filter is kept under: its topic, or the key of all wildcards."""
    return WILDCARDS if has_wildcard(wanted.levels) else wanted.topic_filter


def _joining(change: _Change) -> Joining:
    entry, difference = change.entry, change.difference
    if difference is not None:
        entry = Entry(entry.version, ())
    return Joining(change.key, entry, False, tuple(change.added), difference)
