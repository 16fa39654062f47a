"""What the directory keeps under a key, and what brokers say to each other about it."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.publication import Publication
from meshwright.protocol.message import Message
from meshwright.protocol.roll import Roll

# Filters that a broker wants, the number of a claim, or a retained message.
EntryValue = tuple[str, ...] | int | Publication | None


class Entry(NamedTuple):
    """What one broker says under one key; value None means that it left.

    floor: of a claim: all claims up to this number are void, whatever becomes of this one.
    """

    version: int
    value: EntryValue
    floor: int = 0

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


class Put(Message, frozen=True, gc=False):
    """Store my entry, or that of an owner which several brokers write.

    is_reading: tell me all entries, too; of two that do so at once, one sees the other's.
    """

    request: int
    key: str
    entry: Entry
    owner: str | None = None
    roll: Roll = ()
    is_reading: bool = False


class PutDone(Message, frozen=True, gc=False):
    """It is on disk here; these brokers have read the key lately. entries: if asked for."""

    request: int
    readers: tuple[str, ...]
    entries: dict[str, Entry] | None = None


class Get(Message, frozen=True, gc=False):
    """Tell me all entries, and remember me as a reader if I ask for it."""

    request: int
    key: str
    is_remembered: bool = True
    roll: Roll = ()


class Got(Message, frozen=True, gc=False):
    """All entries of the key at this replica."""

    request: int
    entries: dict[str, Entry]


class AskReaders(Message, frozen=True, gc=False):
    """Tell me who has read a key lately."""

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
