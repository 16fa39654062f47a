"""Who is interested in a key: sets that a majority keeps, so a later reader sees what was written.

Each key is kept by a few brokers, drawn by rendezvous hashing. A broker writes only its own entry
under a key, with versions that it counts itself, so replicas merge by the highest version and need
no leader. A write is done when a majority has it on disk; a read asks a majority: what was done
before the read began is in its answer. Readers are remembered for a while, so that a writer can
tell them at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from meshwright.model.publication import Publication
from meshwright.protocol.message import Message
from meshwright.protocol.turn import Turn

# Filters that a broker wants, the number of a claim, or a retained message.
EntryValue = tuple[str, ...] | int | Publication | None


class Entry(NamedTuple):
    """What one broker says under one key; value None means that it left."""

    version: int
    value: EntryValue

    @property
    def filters(self) -> tuple[str, ...]:
        """The filters that a broker wants under a key of interest."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def claim(self) -> int:
        """The number with which a broker claims a client."""
        return self.value if isinstance(self.value, int) else 0

    @property
    def publication(self) -> Publication | None:
        """The retained message of a topic."""
        return self.value if isinstance(self.value, Publication) else None


Entries = dict[str, Entry]


class Put(Message, frozen=True, gc=False):
    """Store my entry, or that of an owner which several brokers write."""

    request: int
    key: str
    entry: Entry
    owner: str | None = None


class PutDone(Message, frozen=True, gc=False):
    """It is on disk here; these brokers have read the key lately."""

    request: int
    readers: tuple[str, ...]


class Get(Message, frozen=True, gc=False):
    """Tell me all entries, and remember me as a reader if I ask for it."""

    request: int
    key: str
    is_remembered: bool = True


class Got(Message, frozen=True, gc=False):
    """All entries of the key at this replica."""

    request: int
    entries: dict[str, Entry]


class AskReaders(Message, frozen=True, gc=False):
    """Tell me who has read a key lately."""

    request: int
    key: str


class DirectorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many brokers keep a key, and how long a reader is remembered."""

    replica_count: int = 3
    reader_memory_us: int = 60_000_000


class _Request:
    """A question under way to the replicas of a key."""

    __slots__ = ("done", "key", "merged", "message", "readers", "waiting")

    def __init__(
        self,
        key: str,
        message: Put | Get | AskReaders,
        waiting: tuple[str, ...],
        done: Callable[..., None],
    ) -> None:
        self.key = key
        self.message = message
        self.waiting = list(waiting)
        self.done = done
        self.merged: Entries = {}
        self.readers: set[str] = set()


class Directory:
    """One broker's part: the replicas it keeps, and the questions it asks."""

    def __init__(
        self,
        brokers: tuple[str, ...],
        settings: DirectorySettings,
        *,
        send: Callable[[Turn, str, Any], None],
        incarnation: int,
    ) -> None:
        self._brokers = brokers
        self._settings = settings
        self._send = send
        self._kept: dict[str, Entries] = {}
        self._readers: dict[str, dict[str, int]] = {}
        self._requests: dict[int, _Request] = {}
        # An answer to a question from before a crash must not count for one after it.
        self._request_count = incarnation << 32

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {
            Put: self.put_asked,
            PutDone: self.put_done,
            Get: self.get_asked,
            Got: self.got,
            AskReaders: self.readers_asked,
        }

    def restore(self, disk: dict[tuple[Any, ...], Any]) -> None:
        """Take back the replicas kept on disk."""
        for key, value in disk.items():
            if key[0] == "directory":
                self._kept.setdefault(key[1], {})[key[2]] = Entry(*value)
            elif key[0] == "reader":
                self._readers.setdefault(key[1], {})[key[2]] = value

    def put(
        self,
        turn: Turn,
        key: str,
        entry: Entry,
        done: Callable[[Turn, list[str]], None],
        *,
        owner: str | None = None,
    ) -> None:
        """Store my entry, or an owner's, under a key; done is told who has read it lately."""
        self._ask(turn, key, lambda request: Put(request, key, entry, owner), done)

    def get(
        self,
        turn: Turn,
        key: str,
        done: Callable[[Turn, Entries], None],
        *,
        is_remembered: bool = True,
    ) -> None:
        """Read all entries of a key; done gets them merged from a majority."""
        self._ask(turn, key, lambda request: Get(request, key, is_remembered), done)

    def kept_under(self, prefix: str) -> Iterator[tuple[str, Entries]]:
        """All keys kept here that begin with a prefix, without it, and their entries."""
        for key, entries in self._kept.items():
            if key.startswith(prefix):
                yield key.removeprefix(prefix), entries

    def keepers_of(self, key: str) -> tuple[str, ...]:
        """The brokers that keep a key."""
        return replicas_of(key, self._brokers, self._settings.replica_count)

    def spare_count(self) -> int:
        """How many keepers of a key may be missing from a majority."""
        return (min(self._settings.replica_count, len(self._brokers)) - 1) // 2

    def readers(self, turn: Turn, key: str, done: Callable[[Turn, list[str]], None]) -> None:
        """Ask a majority who has read a key lately."""
        self._ask(turn, key, lambda request: AskReaders(request, key), done)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask a replica again what it may have forgotten."""
        for request in list(self._requests.values()):
            if peer in request.waiting:
                self._send(turn, peer, request.message)

    def put_asked(self, turn: Turn, peer: str, message: Put) -> None:
        entries = self._kept.setdefault(message.key, {})
        owner = message.owner or peer
        held = entries.get(owner)
        if held is None or held.version < message.entry.version:
            entries[owner] = message.entry
            turn.write(("directory", message.key, owner), tuple(message.entry))
        readers = tuple(self._readers_now(turn.now_us, message.key))
        answer = PutDone(message.request, readers)
        turn.once_synced(lambda later: self._send(later, peer, answer))

    def get_asked(self, turn: Turn, peer: str, message: Get) -> None:
        until_us = turn.now_us + self._settings.reader_memory_us
        readers = self._readers.setdefault(message.key, {})
        refresh_us = turn.now_us + self._settings.reader_memory_us // 2
        if message.is_remembered and readers.get(peer, 0) < refresh_us:
            readers[peer] = until_us
            turn.write(("reader", message.key, peer), until_us)
        answer = Got(message.request, dict(self._kept.get(message.key, {})))
        # What is told must not be forgotten by a crash: a reader relies on it.
        turn.once_synced(lambda later: self._send(later, peer, answer))

    def readers_asked(self, turn: Turn, peer: str, message: AskReaders) -> None:
        readers = tuple(self._readers_now(turn.now_us, message.key))
        self._send(turn, peer, PutDone(message.request, readers))

    def put_done(self, turn: Turn, peer: str, message: PutDone) -> None:
        request = self._answered(peer, message.request)
        if request is not None:
            request.readers.update(message.readers)
            if self._has_majority(request):
                del self._requests[message.request]
                request.done(turn, sorted(request.readers))

    def got(self, turn: Turn, peer: str, message: Got) -> None:
        request = self._answered(peer, message.request)
        if request is not None:
            merge(request.merged, message.entries)
            if self._has_majority(request):
                del self._requests[message.request]
                request.done(turn, request.merged)

    def _ask(
        self,
        turn: Turn,
        key: str,
        build: Callable[[int], Put | Get | AskReaders],
        done: Callable[..., None],
    ) -> None:
        self._request_count += 1
        replicas = self.keepers_of(key)
        request = _Request(key, build(self._request_count), replicas, done)
        self._requests[self._request_count] = request
        for replica in replicas:
            self._send(turn, replica, request.message)

    def _answered(self, peer: str, number: int) -> _Request | None:
        request = self._requests.get(number)
        if request is None or peer not in request.waiting:
            return None
        request.waiting.remove(peer)
        return request

    def _has_majority(self, request: _Request) -> bool:
        return len(request.waiting) <= self.spare_count()

    def _readers_now(self, now_us: int, key: str) -> list[str]:
        readers = self._readers.get(key, {})
        return sorted(reader for reader, until_us in readers.items() if until_us > now_us)


def merge(into: Entries, entries: Entries) -> bool:
    """Keep the highest version of each broker's entry; True if one was not known before."""
    if into == entries:
        return False
    is_news = False
    for broker, entry in entries.items():
        held = into.get(broker)
        if held is None or held[0] < entry[0]:
            into[broker] = entry if type(entry) is Entry else Entry(*entry)
            is_news = True
    return is_news


@lru_cache(maxsize=65536)
def replicas_of(key: str, brokers: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The brokers that keep a key: those with the highest hash of (key, broker)."""

    def weight(broker: str) -> bytes:
        return hashlib.sha1(f"{key}\0{broker}".encode()).digest()

    return tuple(sorted(brokers, key=weight, reverse=True)[:count])
