"""The directory: entries by key, kept by majorities, so that a reader sees what was written before.

Each key has a few replicas, brokers chosen by rendezvous hashing; the k of the overlay with which
the network was founded says how many. A broker writes only its own entry under a key, with versions
that it counts itself, so replicas merge by the highest version and need no leader. A write is done
when a majority of replicas has it on disk, and a read asks a majority, so it finds every write that
was done before it began. Replicas remember readers for a while, to tell writers of them. When
brokers are removed, others become replicas of their keys. Each request names the roll of its
sender; until all brokers have settled by a new roll, a reader asks them all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.protocol.directory.entries import (
    EVERYBODY,
    AskReaders,
    Entries,
    Entry,
    EntryChange,
    Get,
    Got,
    Put,
    PutDone,
    PutWhole,
    Question,
    merge,
)
from meshwright.protocol.directory.erasures import Erase, Erasures
from meshwright.protocol.directory.kept_entries import KeptEntries
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.open_questions import OpenQuestion, OpenQuestions
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.peers.roll import Roll

REPLICAS: DiskKey = ("replicas",)


class DirectorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many replicas a key has at least, and how long a reader is remembered."""

    replica_count: int = 3
    reader_memory_us: int = 60_000_000


class _Request(OpenQuestion):
    """A request to the replicas of a key that is not answered yet.

    build: makes the message from the request's number and the roll; called again if the roll
        changes.
    required: brokers that must answer besides a majority of the replicas.
    last: an entry that says that this broker left, to be erased once all replicas have it.
    is_done: a majority has answered.
    known: entries that the caller has, which replicas need not send.
    change: sent in place of the whole entry to replicas that have the version before.
    """

    __slots__ = (
        "build", "change", "done", "is_done", "is_hand_over", "key", "known", "last", "merged",
        "readers", "replicas", "required",
    )  # fmt: skip

    message: Question

    def __init__(
        self,
        key: str,
        build: Callable[[int, Roll], Question],
        done: Callable[..., None],
        *,
        is_hand_over: bool,
        last: Entry | None,
    ) -> None:
        self.key = key
        self.build = build
        self.done = done
        self.is_done = False
        self.is_hand_over = is_hand_over
        self.last = last
        self.known: Entries = {}
        self.change: EntryChange | None = None

    def begin(
        self, message: Question, replicas: tuple[str, ...], required: tuple[str, ...]
    ) -> None:
        """Begin to wait for answers, for the first time or by a new roll."""
        self.message = message
        self.waiting_for = dict.fromkeys((*replicas, *required))
        self.replicas = replicas
        self.required = required
        self.merged: Entries = {}
        self.readers: set[str] = set()


def founding_replica_count(overlay: Overlay, settings: DirectorySettings) -> int:
    """How many replicas a key of a new network has: of 2 k - 1, k are left if k - 1 die."""
    k = overlay.params.get("k")
    return max(settings.replica_count, 2 * k - 1 if isinstance(k, int) else 0)


class Directory:
    """One broker's part: the entries that it keeps as a replica, and the requests it makes."""

    def __init__(
        self,
        me: str,
        removals: Removals,
        settings: DirectorySettings,
        *,
        replica_count: int,
        conversations: Conversations,
        incarnation: int,
    ) -> None:
        self._me = me
        self._removals = removals
        self._settings = settings
        self._replica_count = replica_count
        self._send = conversations.send
        self.kept = KeptEntries()
        self._own: dict[str, Entry] = {}
        self._readers: dict[str, dict[str, int]] = {}
        self._requests: OpenQuestions[int, _Request] = OpenQuestions(conversations)
        self._erasures = Erasures(removals, conversations.send)
        self._swept_present: tuple[str, ...] = ()
        self._numbers = serials(incarnation)

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(Put, self.put_asked),
            on(PutDone, self.put_done),
            on(PutWhole, self.whole_asked),
            on(Get, self.get_asked),
            on(Got, self.got),
            on(AskReaders, self.readers_asked),
            on(Erase, self.erase_asked),
        )

    def restore(self, disk: dict[tuple[Any, ...], Any]) -> None:
        """After a start, read from disk the entries that this broker keeps as a replica."""
        self.kept.restore(disk)
        for key, value in disk.items():
            if key[0] == "reader":
                self._readers.setdefault(key[1], {})[key[2]] = value

    def put(
        self,
        turn: Turn,
        key: str,
        entry: Entry,
        done: Callable[[Turn, list[str]], None],
        *,
        owner: str | None = None,
        change: EntryChange | None = None,
    ) -> None:
        """Write this broker's entry, or a common owner's, under a key.

        done: called with the brokers that have read the key lately, once a majority has the entry.
        change: how the entry differs from the one written last, if that is shorter.
        """
        is_own = owner is None
        if is_own:
            self._own[key] = entry
        last = entry if is_own and entry.is_void else None
        request = _Request(
            key, partial(_put, key, entry, owner), done, is_hand_over=False, last=last
        )
        request.change = change
        self._begin(turn, request)

    def put_and_get(
        self, turn: Turn, key: str, entry: Entry, done: Callable[[Turn, Entries], None]
    ) -> None:
        """Write this broker's entry and read all; of two that do this, one sees the other's."""
        self._own[key] = entry
        self._ask(turn, key, lambda request, roll: Put(request, key, entry, None, roll, True), done)

    def own(self, key: str, entry: Entry) -> None:
        """After a start, remember the entry that this broker has written under a key."""
        self._own[key] = entry

    def said(self, key: str) -> Entry | None:
        """The entry that this broker has written under a key, unless it was erased."""
        return self._own.get(key)

    def sweep(self, turn: Turn) -> None:
        """From time to time, drop what is not needed any more.

        These are entries that say that this broker left, readers of long ago, and entries of keys
        of which this broker is no replica any more.
        """
        in_flight = {one.key for one in self._requests.values() if one.last is not None}
        for key, entry in list(self._own.items()):
            if entry.is_void and key not in in_flight:
                self.put(turn, key, entry, lambda _turn, _readers: None)
        self._erasures.tell(turn, asked={one.key for one in self._requests.values()})
        self._sweep_readers(turn)
        present = self._removals.present
        if self._swept_present == present or self._removals.unsettled():
            return
        self._swept_present = present
        for key in [key for key in self.kept if self._me not in self.replicas_of(key)]:
            for owner in list(self.kept.of(key)):
                turn.forget(*self.kept.discard(key, owner))

    def get(
        self,
        turn: Turn,
        key: str,
        done: Callable[[Turn, Entries], None],
        *,
        is_remembered: bool = True,
        known: Entries | None = None,
    ) -> None:
        """Read all entries of a key; done gets them, merged from a majority of replicas.

        is_remembered: be told of changes from now on.
        known: entries that need not be sent again.
        """
        held = known or {}
        versions = tuple((name, entry.version) for name, entry in held.items())

        def build(number: int, roll: Roll) -> Get:
            return Get(number, key, is_remembered, roll, versions)

        request = _Request(key, build, done, is_hand_over=False, last=None)
        request.known = held
        self._begin(turn, request)

    def replicas_of(self, key: str) -> tuple[str, ...]:
        """The replicas of a key."""
        return replicas_of(key, self._removals.present, self._replica_count)

    def spare_count(self) -> int:
        """How many replicas of a key may be missing from a majority."""
        return (min(self._replica_count, len(self._removals.present)) - 1) // 2

    def missing_max(self) -> int:
        """How many brokers may fail to answer when all are asked what they keep."""
        return 0 if self._removals.unsettled() else self.spare_count()

    def readers(self, turn: Turn, key: str, done: Callable[[Turn, list[str]], None]) -> None:
        """Ask a majority of replicas which brokers have read a key lately."""
        self._ask(turn, key, lambda request, roll: AskReaders(request, key, roll), done)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Repeat requests to a replica, which may have forgotten them."""
        self._requests.peer_renewed(turn, peer)

    def roll_changed(self, turn: Turn) -> None:
        """Repeat all requests by the new roll, and hand over entries to new replicas."""
        requests = list(self._requests.values())
        self._requests.clear()
        self._ask_all(turn, [one for one in requests if not one.is_hand_over])
        self.hand_over(turn)

    def hand_over(self, turn: Turn) -> None:
        """Write this broker's entries to the new replicas of keys, after a change of the roll.

        Entries of common owners that it keeps as a replica are written, too. When all are, it has
        settled.
        """
        if self._removals.has_settled():
            return
        puts: list[tuple[str, Entry, str | None]]
        puts = [(key, entry, None) for key, entry in self._own.items()]
        for key in self.kept:
            entries = self.kept.of(key)
            puts += [(key, e, name) for name, e in entries.items() if name == EVERYBODY]
        remaining = 1

        def one_done(later: Turn, _readers: object = None) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining and roll == self._removals.roll:
                self._removals.settle(later)

        roll = self._removals.roll
        handed = []
        for key, entry, owner in puts:
            if self._has_moved(key):
                remaining += 1
                put = partial(_put, key, entry, owner)
                handed.append(_Request(key, put, one_done, is_hand_over=True, last=None))
        self._ask_all(turn, handed)
        one_done(turn)

    def put_asked(self, turn: Turn, peer: str, message: Put) -> None:
        if not self._is_same_roll(turn, peer, message):
            return
        # A broker that is no replica of the key is asked only to have the roll on disk.
        if self._me in self.replicas_of(message.key) and not self._keep(turn, peer, message):
            self._send(turn, peer, PutWhole(message.request))
            return
        readers = tuple(self._readers_now(turn.now_us, message.key))
        entries = self._entries_of(message.key) if message.is_reading else None
        answer = PutDone(message.request, readers, entries)
        turn.once_synced(lambda later: self._send(later, peer, answer))

    def get_asked(self, turn: Turn, peer: str, message: Get) -> None:
        if not self._is_same_roll(turn, peer, message):
            return
        until_us = turn.now_us + self._settings.reader_memory_us
        readers = self._readers.get(message.key, {})
        refresh_us = turn.now_us + self._settings.reader_memory_us // 2
        if message.is_remembered and readers.get(peer, 0) < refresh_us:
            self._readers.setdefault(message.key, {})[peer] = until_us
            turn.write(("reader", message.key, peer), until_us)
        entries, known = self._entries_of(message.key), dict(message.known)
        same = tuple(name for name, one in entries.items() if one.version <= known.get(name, -1))
        if same:
            entries = {name: one for name, one in entries.items() if name not in same}
        answer = Got(message.request, entries, same)
        # Once synced: the reader relies on these entries and on being remembered.
        send = self._send
        turn.once_synced(lambda later: send(later, peer, answer))

    def readers_asked(self, turn: Turn, peer: str, message: AskReaders) -> None:
        if self._is_same_roll(turn, peer, message):
            readers = tuple(self._readers_now(turn.now_us, message.key))
            answer = PutDone(message.request, readers)
            turn.once_synced(lambda later: self._send(later, peer, answer))

    def whole_asked(self, turn: Turn, peer: str, message: PutWhole) -> None:
        """A replica lacks the version that a change is based on: send the whole entry."""
        request = self._requests.open_to(peer, message.request)
        if request is not None:
            self._send(turn, peer, request.build(message.request, self._removals.roll))

    def put_done(self, turn: Turn, peer: str, message: PutDone) -> None:
        request = self._requests.answered(peer, message.request)
        if request is not None:
            request.readers.update(message.readers)
            merge(request.merged, message.entries or {})
            is_enough = self._has_majority(request)
            if is_enough and (request.last is None or not request.waiting_for):
                del self._requests[message.request]
                self._erase(turn, request)
            if is_enough and not request.is_done:
                request.is_done = True
                is_reading = _is_reading(request.message)
                found = request.merged if is_reading else self._readers_found(turn, request)
                request.done(turn, found)

    def got(self, turn: Turn, peer: str, message: Got) -> None:
        request = self._requests.answered(peer, message.request)
        if request is not None:
            merge(request.merged, message.entries)
            merge(request.merged, {name: request.known[name] for name in message.same})
            if self._has_majority(request):
                del self._requests[message.request]
                request.done(turn, request.merged)

    def erase_asked(self, turn: Turn, peer: str, message: Erase) -> None:
        for key, version in message.entries:
            held = self.kept.of(key).get(peer)
            if held is not None and held.version <= version:
                turn.forget(*self.kept.discard(key, peer))

    def _erase(self, turn: Turn, request: _Request) -> None:
        """All replicas have stored that this broker left: have them drop the entry."""
        key, last = request.key, request.last
        is_latest = last is not None and self._own.get(key) is last
        if last is not None and is_latest and self._erasures.may_begin(turn.now_us):
            del self._own[key]
            self._erasures.gather(self.replicas_of(key), key, last.version)

    def _keep(self, turn: Turn, peer: str, message: Put) -> bool:
        """Keep an entry unless a newer one is here; False if the version it is based on is not."""
        key, owner = message.key, message.owner or peer
        held = self.kept.of(key).get(owner)
        version = message.entry.version
        if held is not None and held.version >= version:
            return True
        if message.change is None:
            self.kept.keep(turn, key, owner, message.entry)
            return True
        entry = message.change.applied_to(held, version)
        if entry is None:
            return False
        self.kept.keep(turn, key, owner, entry, change=message.change)
        return True

    def _ask(
        self,
        turn: Turn,
        key: str,
        build: Callable[[int, Roll], Question],
        done: Callable[..., None],
    ) -> None:
        self._begin(turn, _Request(key, build, done, is_hand_over=False, last=None))

    def _begin(self, turn: Turn, request: _Request) -> None:
        self._requests.ask(turn, *self._numbered(request))

    def _ask_all(self, turn: Turn, requests: list[_Request]) -> None:
        self._requests.feed(turn, dict(map(self._numbered, requests)))

    def _numbered(self, request: _Request) -> tuple[int, _Request]:
        """Give a request its number, its message, and the brokers to ask."""
        number, removals = next(self._numbers), self._removals
        message = request.build(number, removals.roll)
        if request.change is not None and isinstance(message, Put):
            entry = Entry(message.entry.version, ())
            message = msgspec.structs.replace(message, entry=entry, change=request.change)
            request.change = None
        required = removals.unsettled() if _is_reading(message) else ()
        if type(message) is not Get:
            required = (*required, *removals.without_roll())
        request.begin(message, self.replicas_of(request.key), required)
        return number, request

    def _entries_of(self, key: str) -> Entries:
        """The entries kept under a key, with this broker's own while it has not settled."""
        entries = self.kept.of(key)
        mine = self._own.get(key)
        if mine is not None and not self._removals.has_settled():
            entries = dict(entries)
            merge(entries, {self._me: mine})
        return entries

    def _has_moved(self, key: str) -> bool:
        """True if a key has other replicas than when this broker settled last."""
        settled = replicas_of(key, self._removals.settled_present, self._replica_count)
        return self.replicas_of(key) != settled

    def _is_same_roll(self, turn: Turn, peer: str, message: Question) -> bool:
        """True if the sender has the same roll; only then is it answered.

        Otherwise the two tell each other their rolls, and the sender asks again.
        """
        if message.roll == self._removals.roll:
            return True
        self._removals.learn(turn, message.roll)
        if message.roll == self._removals.roll:
            return True
        self._removals.tell(turn, peer)
        return False

    def _has_majority(self, request: _Request) -> bool:
        missing = request.waiting_for
        missing_count = sum(name in missing for name in request.replicas)
        return missing_count <= self.spare_count() and missing.keys().isdisjoint(request.required)

    def _readers_found(self, turn: Turn, request: _Request) -> list[str]:
        """The brokers that may have read a key lately.

        While replicas may not have heard of all readers, after a change of the roll, these are all
        brokers.
        """
        removals = self._removals
        if not removals.is_settled_since(turn.now_us - self._settings.reader_memory_us):
            return list(removals.present)
        return sorted(name for name in request.readers if not removals.is_removed(name))

    def _sweep_readers(self, turn: Turn) -> None:
        """Forget readers of long ago, as every topic and client ever used has some."""
        for key, readers in list(self._readers.items()):
            for peer in [peer for peer, until_us in readers.items() if until_us <= turn.now_us]:
                del readers[peer]
                turn.forget(("reader", key, peer))
            if not readers:
                del self._readers[key]

    def _readers_now(self, now_us: int, key: str) -> list[str]:
        readers = self._readers.get(key, {})
        return sorted(reader for reader, until_us in readers.items() if until_us > now_us)


def _is_reading(message: Question) -> bool:
    return type(message) is Get or (type(message) is Put and message.is_reading)


def _put(key: str, entry: Entry, owner: str | None, request: int, roll: Roll) -> Put:
    return Put(request, key, entry, owner, roll)


@lru_cache(maxsize=65536)
def replicas_of(key: str, brokers: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The replicas of a key: the brokers with the highest hash of (key, broker)."""

    def weight(broker: str) -> bytes:
        return hashlib.sha1(f"{key}\0{broker}".encode()).digest()

    return tuple(sorted(brokers, key=weight, reverse=True)[:count])
