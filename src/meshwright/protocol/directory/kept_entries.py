"""The entries that one broker keeps as a replica, by key and owner, in memory and on disk.

The registers that a filter matches are found without a look at all others. Changes of an entry with
many filters are written to disk beside it; after many changes the entry is written whole again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshwright.filters.filter import Filter
from meshwright.filters.names import TopicNames
from meshwright.protocol.directory.entries import (
    EVERYBODY,
    REGISTERS,
    Entries,
    Entry,
    EntryChange,
    register_key,
)
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Turn

# An entry is written whole after so many changes, plus one for every few filters that it has.
CHANGES_MIN = 16
FILTERS_PER_CHANGE = 4


class KeptEntries:
    """Entries by key; the dict of a key is replaced, never changed, as answers hold it."""

    def __init__(self) -> None:
        self._entries: dict[str, Entries] = {}
        self._topics = TopicNames()
        # By key and owner: the versions of the changes that stand on disk beside an entry.
        self._changes: dict[tuple[str, str], list[int]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start, read the entries from disk."""
        for key, value in disk.items():
            if key[0] == "directory":
                self._put(str(key[1]), str(key[2]), Entry(*value))
        changes = [key for key in disk if key[0] == "entry change"]
        for one in sorted(changes, key=lambda key: int(key[3])):
            name, owner, version = str(one[1]), str(one[2]), int(one[3])
            entry = EntryChange(*disk[one]).applied_to(self.of(name).get(owner), version)
            if entry is not None:
                self._put(name, owner, entry)
            self._changes.setdefault((name, owner), []).append(version)

    def of(self, key: str) -> Entries:
        """The entries kept under a key, by owner."""
        return self._entries.get(key, {})

    def keep(
        self, turn: Turn, key: str, owner: str, entry: Entry, *, change: EntryChange | None = None
    ) -> None:
        """Keep an entry in place of its owner's former one; change: how it differs from that."""
        self._put(key, owner, entry)
        versions = self._changes.get((key, owner), [])
        count_max = CHANGES_MIN + len(entry.filters) // FILTERS_PER_CHANGE
        if change is not None and len(versions) < count_max:
            self._changes.setdefault((key, owner), []).append(entry.version)
            turn.write(("entry change", key, owner, entry.version), tuple(change))
            return
        for disk_key in self._forget_changes(key, owner):
            turn.write(disk_key, None)
        turn.write(("directory", key, owner), tuple(entry))

    def discard(self, key: str, owner: str) -> list[DiskKey]:
        """Drop one entry; returns its keys on disk."""
        entries = {name: one for name, one in self.of(key).items() if name != owner}
        if entries:
            self._entries[key] = entries
        else:
            self._entries.pop(key, None)
            if key.startswith(REGISTERS):
                self._topics.discard(key.removeprefix(REGISTERS))
        return [("directory", key, owner), *self._forget_changes(key, owner)]

    def registers(self, wanted: Filter) -> Iterator[tuple[str, Entry]]:
        """The topics that a filter matches, with their registers, deleted ones included."""
        for topic in self._topics.taken_by(wanted):
            # A caller that takes them a few at a time may find that one is gone.
            register = self.of(register_key(topic)).get(EVERYBODY)
            if register is not None:
                yield topic, register

    def retained_count(self) -> int:
        """How many topics have a retained message."""
        registers = (self._entries[register_key(topic)][EVERYBODY] for topic in self._topics)
        return sum(one.publication is not None for one in registers)

    def _put(self, key: str, owner: str, entry: Entry) -> None:
        self._entries[key] = {**self.of(key), owner: entry}
        if key.startswith(REGISTERS):
            self._topics.add(key.removeprefix(REGISTERS))

    def _forget_changes(self, key: str, owner: str) -> list[DiskKey]:
        versions = self._changes.pop((key, owner), [])
        return [("entry change", key, owner, version) for version in versions]
