"""What one broker keeps of the directory: entries by key and owner, and the registers among them.

A register is found by the topic filters that take its topic, without a look at all others.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshwright.filters.filter import Filter
from meshwright.filters.names import TopicNames
from meshwright.protocol.entries import EVERYBODY, REGISTERS, Entries, Entry, register_key


class KeptEntries:
    """Entries by key; those of one key are never changed, only replaced: answers hold them."""

    def __init__(self) -> None:
        self._entries: dict[str, Entries] = {}
        self._topics = TopicNames()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def of(self, key: str) -> Entries:
        """What is kept under a key."""
        return self._entries.get(key, {})

    def keep(self, key: str, owner: str, entry: Entry) -> None:
        """Keep an entry instead of its owner's former one."""
        self._entries[key] = {**self.of(key), owner: entry}
        if key.startswith(REGISTERS):
            self._topics.add(key.removeprefix(REGISTERS))

    def discard(self, key: str, owner: str) -> None:
        """Forget one entry."""
        entries = {name: one for name, one in self.of(key).items() if name != owner}
        if entries:
            self._entries[key] = entries
        else:
            self.drop(key)

    def drop(self, key: str) -> Entries:
        """Forget a key; returns what was kept under it."""
        if key.startswith(REGISTERS):
            self._topics.discard(key.removeprefix(REGISTERS))
        return self._entries.pop(key, {})

    def registers(self, wanted: Filter) -> Iterator[tuple[str, Entry]]:
        """The topics that a filter takes, each with its register, deleted ones included."""
        for topic in self._topics.taken_by(wanted):
            yield topic, self._entries[register_key(topic)][EVERYBODY]

    def retained_count(self) -> int:
        """How many topics retain something."""
        registers = (self._entries[register_key(topic)][EVERYBODY] for topic in self._topics)
        return sum(one.publication is not None for one in registers)
