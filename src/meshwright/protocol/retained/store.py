"""Publications that are to be retained: the network keeps them before anybody is sent them.

Each topic has a register, kept like any key of the directory: by a majority of a few brokers, the
highest version counts. Its writer reads it first, so its version is above all that were stored
before. Only then the publication enters its stream and is acknowledged. So whoever has got it, and
whoever was told that it is safe, finds it (or a later one) in the register; and a new subscriber,
who reads the register once its filter is in force, either finds it there or is sent it. What comes
on the same topic meanwhile waits behind it, to keep the order. A deleted register leaves its
version behind, so that no late copy comes to life.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from meshwright.filters.filter import Filter
from meshwright.filters.topics import levels_cover, levels_of
from meshwright.model.publication import Publication
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.directory.entries import EVERYBODY, Entries, Entry, register_key
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.streams.messages import OwedQuestion
from meshwright.protocol.streams.outgoing import Outgoing

VERSION_BITS = 16


class RetainedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many qos0 publications may wait on one topic."""

    qos0_max: int = 1_000


class _Pending:
    """A publication that waits for its register, or for one before it; place 0 is not on disk."""

    __slots__ = ("accepted", "index", "publication")

    def __init__(self, index: int, publication: Publication, accepted: list[Action]) -> None:
        self.index = index
        self.publication = publication
        self.accepted = accepted


class RetainedStore:
    """Stands before the streams of one origin, and holds up what must be stored first."""

    def __init__(
        self,
        settings: RetainedSettings,
        directory: Directory,
        outgoing: Outgoing,
        *,
        writer: Callable[[], int],
    ) -> None:
        """Writer: a number that no other broker has; of equal counts, the higher one wins."""
        self._settings = settings
        self._directory = directory
        self._outgoing = outgoing
        self._writer = writer
        self._index = 0
        self._waiting: dict[str, deque[_Pending]] = {}
        self._questions: dict[str, list[tuple[str, OwedQuestion]]] = {}
        self.change_count = 0
        # Publications that are taken already, and are kept as soon as something else is on disk.
        self.reserved = 0

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (on(OwedQuestion, self.owed_asked),)

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """Take up again what was not stored, or not known to be."""
        for index in sorted(int(key[1]) for key in disk if key[0] == "retaining"):
            self._index = index
            publication = disk["retaining", index]
            waiting = self._waiting.setdefault(publication.topic, deque())
            waiting.append(_Pending(index, publication, []))
        for topic in list(self._waiting):
            self._go_on(turn, topic)

    def publish(self, turn: Turn, publication: Publication, accepted: Action) -> int:
        """Take a publication; accepted is called when it is safe, and retained if it is to be.

        Returns the number that it has, or will have, in its stream.
        """
        topic = publication.topic
        if not publication.retain and topic not in self._waiting:
            return self._outgoing.publish(turn, publication, accepted)
        self._index += 1
        turn.write(("retaining", self._index), publication)
        self._wait(turn, _Pending(self._index, publication, [accepted]))
        promised_count = sum(pending.index > 0 for pending in self._waiting[topic])
        return self._outgoing.number_of(topic) + promised_count

    def publish_qos0(self, turn: Turn, publication: Publication) -> None:
        """Take a publication of QoS 0, which waits in memory only."""
        topic = publication.topic
        if not publication.retain and topic not in self._waiting:
            self._outgoing.publish_qos0(turn, publication)
        elif self._qos0_count(topic) < self._settings.qos0_max:
            self._wait(turn, _Pending(0, publication, []))

    def waits_on(self, topic: str) -> bool:
        """True if something on a topic waits for its turn."""
        return topic in self._waiting

    def is_crowded(self, topic: str) -> bool:
        """True if so much QoS 0 waits on a topic that a publisher had better be read later."""
        count = self._qos0_count(topic) if topic in self._waiting else 0
        return 2 * count >= self._settings.qos0_max or self._outgoing.is_crowded(topic)

    def when_settled(self, turn: Turn, topic: str, action: Action) -> None:
        """Do something when all that was taken on a topic so far is safe."""
        waiting = self._waiting.get(topic)
        if waiting:
            waiting[-1].accepted.append(action)
        else:
            turn.once_synced(action)

    def when_stored(self, turn: Turn, wanted: Filter, action: Action) -> None:
        """Do something when all that was taken so far and a filter takes is stored."""
        waiting = [
            pending[-1]
            for topic, pending in self._waiting.items()
            if levels_cover(wanted.levels, levels_of(topic))
        ]
        remaining = len(waiting)

        def one_stored(later: Turn) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining:
                action(later)

        for last in waiting:
            last.accepted.append(one_stored)
        if not waiting:
            action(turn)

    def kept(self) -> list[tuple[int, Publication]]:
        """All that is kept on disk, with the numbers that it has or will have."""
        return self._outgoing.kept() + self._promised()

    def unsent(self) -> list[tuple[int, Publication]]:
        """What clients here have got, and no other broker can have got yet, with its numbers."""
        return [
            (number, publication)
            for number, publication in self._promised()
            if number not in self._outgoing.unpassed(publication.topic)
        ]

    def _promised(self) -> list[tuple[int, Publication]]:
        """What waits for its register and is on disk, with the numbers that it will have."""
        found: list[tuple[int, Publication]] = []
        for topic, waiting in self._waiting.items():
            promised = [pending.publication for pending in waiting if pending.index]
            found += enumerate(promised, self._outgoing.number_of(topic) + 1)
        return found

    def log_length(self) -> int:
        """Publications kept on disk as somebody may still need them, reserved room included."""
        length = self._outgoing.log_length() + self.reserved
        for waiting in self._waiting.values():
            length += sum(pending.index > 0 for pending in waiting)
        return length

    def sweep(self, turn: Turn) -> None:
        """Have quiet streams forgotten; what waits was promised the next number of its topic."""
        self._outgoing.quiet.sweep(turn, is_raised=not self._waiting)

    def points_of(self, publisher: str) -> dict[str, int]:
        """The last number of a publisher on each topic, one that it will have included."""
        points = self._outgoing.points_of(publisher)
        for topic, waiting in self._waiting.items():
            number = self._outgoing.number_of(topic)
            for pending in waiting:
                if pending.index:
                    number += 1
                    if pending.publication.publisher == publisher:
                        points[topic] = number
        return points

    def owed_asked(self, turn: Turn, peer: str, message: OwedQuestion) -> None:
        """A broker asks for a number that may only be given soon."""
        if message.topic in self._waiting:
            self._questions.setdefault(message.topic, []).append((peer, message))
        else:
            self._outgoing.owed_asked(turn, peer, message)

    def _wait(self, turn: Turn, pending: _Pending) -> None:
        topic = pending.publication.topic
        waiting = self._waiting.setdefault(topic, deque())
        waiting.append(pending)
        if len(waiting) == 1:
            self.change_count += 1
            turn.once_synced(partial(self._go_on, topic=topic))

    def _qos0_count(self, topic: str) -> int:
        return sum(not pending.index for pending in self._waiting.get(topic, ()))

    def _go_on(self, turn: Turn, topic: str) -> None:
        """Store the newest value that waits; without one, let go what waited only for its turn."""
        waiting = self._waiting[topic]
        indexes = [at for at, pending in enumerate(waiting) if pending.publication.retain]
        if indexes:
            self._store(turn, topic, indexes[-1] + 1)
            return
        self._let_go(turn, topic, len(waiting))
        del self._waiting[topic]
        for peer, question in self._questions.pop(topic, ()):
            self._outgoing.owed_asked(turn, peer, question)

    def _store(self, turn: Turn, topic: str, count: int) -> None:
        """Store the last of the first count that wait: it replaces those before it."""
        publication = self._waiting[topic][count - 1].publication
        key = register_key(topic)

        def stored(later: Turn, _readers: list[str]) -> None:
            self._let_go(later, topic, count)
            self._go_on(later, topic)

        def read(later: Turn, entries: Entries) -> None:
            held = entries.get(EVERYBODY, Entry(0, None))
            if _is_newer(held.publication, publication):
                stored(later, [])
                return
            version = ((held.version >> VERSION_BITS) + 1) << VERSION_BITS | self._writer()
            entry = Entry(version, publication if publication.payload else None)
            self._directory.put(later, key, entry, stored, owner=EVERYBODY)

        self._directory.get(turn, key, read, is_remembered=False)

    def _let_go(self, turn: Turn, topic: str, count: int) -> None:
        """Give the first that wait to their stream; the disk hands them over in one batch."""
        waiting = self._waiting[topic]
        for _ in range(count):
            pending = waiting.popleft()
            accepted = partial(_all, actions=pending.accepted)
            if not pending.index:
                self._outgoing.publish_qos0(turn, pending.publication)
                turn.once_synced(accepted)
                continue
            turn.write(("retaining", pending.index), None)
            self._outgoing.publish(turn, pending.publication, accepted)


def _is_newer(held: Publication | None, publication: Publication) -> bool:
    """True if a publisher that moved has already stored a later value elsewhere."""
    return (
        held is not None
        and held.publisher == publication.publisher
        and held.sequence > publication.sequence
    )


def _all(turn: Turn, actions: list[Action]) -> None:
    for action in actions:
        action(turn)
