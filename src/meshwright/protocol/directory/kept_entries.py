"""What one broker keeps of the directory: entries by key and owner, in memory and on disk.

A register is found by the topic filters that take its topic, without a look at all others. Of an
entry of many filters, changes are written beside it until there are so many that it is written
whole again.
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

# An entry is written whole again after so many changes, and one for each few filters of it.
CHANGES_MIN = 16
FILTERS_PER_CHANGE = 4


class KeptEntries:
    """Entries by key; those of one key are never changed, only replaced: answers hold them."""

    def __init__(self) -> None:
        self._entries: dict[str, Entries] = {}
        self._topics = TopicNames()
        # By key and owner: the versions of the changes that stand on disk beside an entry.
        self._changes: dict[tuple[str, str], list[int]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """Take back what is on disk."""
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
        """What is kept under a key."""
        return self._entries.get(key, {})

    def keep(
        self, turn: Turn, key: str, owner: str, entry: Entry, *, change: EntryChange | None = None
    ) -> None:
        """Keep an entry instead of its owner's former one, of which a change has made it."""
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
        """Forget one entry; returns what is on disk of it."""
        entries = {name: one for name, one in self.of(key).items() if name != owner}
        if entries:
            self._entries[key] = entries
        else:
            self._entries.pop(key, None)
            if key.startswith(REGISTERS):
                self._topics.discard(key.removeprefix(REGISTERS))
        return [("directory", key, owner), *self._forget_changes(key, owner)]

    def registers(self, wanted: Filter) -> Iterator[tuple[str, Entry]]:
        """The topics that a filter takes, each with its register, deleted ones included."""
        for topic in self._topics.taken_by(wanted):
            # Who takes them some at a time may find that one is gone.
            register = self.of(register_key(topic)).get(EVERYBODY)
            if register is not None:
                yield topic, register

    def retained_count(self) -> int:
        """How many topics retain something."""
        registers = (self._entries[register_key(topic)][EVERYBODY] for topic in self._topics)
        return sum(one.publication is not None for one in registers)

    def _put(self, key: str, owner: str, entry: Entry) -> None:
        self._entries[key] = {**self.of(key), owner: entry}
        if key.startswith(REGISTERS):
            self._topics.add(key.removeprefix(REGISTERS))

    def _forget_changes(self, key: str, owner: str) -> list[DiskKey]:
        versions = self._changes.pop((key, owner), [])
        return [("entry change", key, owner, version) for version in versions]
