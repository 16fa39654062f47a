"""What the directory keeps under a key, and what brokers say to each other about it."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.peers.roll import Roll

# Filters that a broker wants, the number of a claim, or a retained message.
EntryValue = tuple[str, ...] | int | Publication | None


class Entry(NamedTuple):
    """What one broker says under one key; value None means that it left.

    void_up_to: of a claim: all claims up to this number are void, whatever becomes of this one.
    """

    version: int
    value: EntryValue
    void_up_to: int = 0

    @property
    def is_void(self) -> bool:
        """True if its owner wants nothing, and claims nothing."""
        return not self.value

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


# So many filters are searched for one by one among all.
FEW = 4


class EntryChange(NamedTuple):
    """What an entry of filters has become since one of an earlier version."""

    base: int
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def applied_to(self, entry: Entry | None, version: int) -> Entry | None:
        """The entry that an earlier one becomes; None if that is not the one it was made of."""
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

# The owner of an entry that all brokers write.
EVERYBODY = "*"

# Keys that are no topics. No client can name them: no text of MQTT holds U+0000.
WILDCARDS = "\0wildcards"
REGISTERS = "\0retained/"
CLAIMS = "\0client/"


def register_key(topic: str) -> str:
    """The key of the value that a topic retains."""
    return REGISTERS + topic


def claim_key(client: str) -> str:
    """The key of whoever keeps a client's session."""
    return CLAIMS + client


class Put(PeerMessage, frozen=True, gc=False, tag=44):
    """Store my entry, or that of an owner which several brokers write.

    is_reading: tell me all entries, too; of two that do so at once, one sees the other's. change:
    what the entry, which is then only a version, has become since an earlier one.
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
    """It is on disk here; these brokers have read the key lately. entries: if asked for."""

    counts_as = "directory"

    request: int
    readers: tuple[str, ...]
    entries: dict[str, Entry] | None = None


class PutWhole(PeerMessage, frozen=True, gc=False, tag=46):
    """I do not have the entry of which you told me what it has become: tell me all of it."""

    counts_as = "directory"

    request: int


class Get(PeerMessage, frozen=True, gc=False, tag=47):
    """Tell me all entries, and remember me as a reader if I ask for it.

    known: the versions that I have, of which I need not be told what they say.
    """

    counts_as = "directory"

    request: int
    key: str
    is_remembered: bool = True
    roll: Roll = ()
    known: tuple[tuple[str, int], ...] = ()


class Got(PeerMessage, frozen=True, gc=False, tag=48):
    """All entries of the key at this replica; same: owners of those that you have, or newer."""

    counts_as = "directory"

    request: int
    entries: dict[str, Entry]
    same: tuple[str, ...] = ()


class AskReaders(PeerMessage, frozen=True, gc=False, tag=49):
    """Tell me who has read a key lately."""

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
