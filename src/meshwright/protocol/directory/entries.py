"""Entries of the directory, and the messages by which brokers write and read them."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.peers.roll import Roll

# The filters that a broker wants, the number of its claim, or a retained message.
EntryValue = tuple[str, ...] | int | Publication | None


class Entry(NamedTuple):
    """What one broker has written under one key; value None means that it wants nothing any more.

    void_up_to: of a claim: all claims up to this number are void, whatever becomes of this one.
    """

    version: int
    value: EntryValue
    void_up_to: int = 0

    @property
    def is_void(self) -> bool:
        """True if its broker wants nothing, and claims nothing."""
        return not self.value

    @property
    def filters(self) -> tuple[str, ...]:
        """The filters that the broker wants, if the key is one of interest."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def claim(self) -> int:
        """The number of the broker's claim on a client, if the key is a client's."""
        return self.value if isinstance(self.value, int) else 0

    @property
    def publication(self) -> Publication | None:
        """The retained message, if the key is a topic's register."""
        return self.value if isinstance(self.value, Publication) else None


# Up to so many removed filters are searched for one by one.
FEW = 4


class EntryChange(NamedTuple):
    """The filters added to and removed from an entry since its version base."""

    base: int
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def applied_to(self, entry: Entry | None, version: int) -> Entry | None:
        """The entry with this change; None if it is not of the version base."""
        if entry is None or entry.version != self.base:
            return None
        left = entry.filters
        if len(self.removed) > FEW:
            gone = frozenset(self.removed)
            left = tuple(text for text in left if text not in gone)
        else:
            for text in self.removed:
                place = left.index(text)
                left = left[:place] + left[place + 1 :]
        return Entry(version, left + self.added)


Entries = dict[str, Entry]

# The owner of entries that all brokers write.
EVERYBODY = "*"

# Keys that are no topics. No client can name them: no text of MQTT holds U+0000.
WILDCARDS = "\0wildcards"
REGISTERS = "\0retained/"
CLAIMS = "\0client/"


def register_key(topic: str) -> str:
    """The key of a topic's retained message."""
    return REGISTERS + topic


def claim_key(client: str) -> str:
    """The key under which brokers claim a client."""
    return CLAIMS + client


class Put(PeerMessage, frozen=True, gc=False, tag=44):
    """Asks a replica to store the sender's entry under a key, or that of a common owner.

    owner: of an entry that several brokers write; None for the sender.
    is_reading: answer with all entries of the key; of two brokers that do this at once, one sees
        the other's.
    change: how the entry differs from an earlier version; entry then has only the new version.
    """

    counts_as = "directory"

    request: int
    key: str
    entry: Entry
    owner: str | None = None
    roll: Roll = ()
    is_reading: bool = False
    change: EntryChange | None = None


class PutDone(PeerMessage, frozen=True, gc=False, tag=45):
    """The replica has the entry on disk.

    readers: the brokers that have read the key lately.
    entries: all entries of the key, if is_reading was set.
    """

    counts_as = "directory"

    request: int
    readers: tuple[str, ...]
    entries: dict[str, Entry] | None = None


class PutWhole(PeerMessage, frozen=True, gc=False, tag=46):
    """The replica lacks the version that a change is based on, and asks for the whole entry."""

    counts_as = "directory"

    request: int


class Get(PeerMessage, frozen=True, gc=False, tag=47):
    """Asks a replica for all entries of a key.

    is_remembered: note the sender as a reader, so that it is told of changes.
    known: versions that the sender has; the replica does not send these again.
    """

    counts_as = "directory"

    request: int
    key: str
    is_remembered: bool = True
    roll: Roll = ()
    known: tuple[tuple[str, int], ...] = ()


class Got(PeerMessage, frozen=True, gc=False, tag=48):
    """All entries of the key at this replica; same: owners whose known entry is not older."""

    counts_as = "directory"

    request: int
    entries: dict[str, Entry]
    same: tuple[str, ...] = ()


class AskReaders(PeerMessage, frozen=True, gc=False, tag=49):
    """Asks a replica which brokers have read a key lately; it answers with PutDone."""

    counts_as = "directory"

    request: int
    key: str
    roll: Roll = ()


Question = Put | Get | AskReaders


def merge(into: Entries, entries: Entries) -> bool:
    """Keep the highest version of each broker's entry; True if one was not known before."""
    if into == entries:
        return False
    if not into:
        into.update(entries)
        return True
    is_news = False
    for broker, entry in entries.items():
        held = into.get(broker)
        if held is None or held.version < entry.version:
            into[broker] = entry
            is_news = True
    return is_news
