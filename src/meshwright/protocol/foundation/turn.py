"""One step of a broker: its time, and the effects and disk changes that machines ask for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from meshwright.protocol.foundation.effects import (
    DiskKey,
    Effect,
    Report,
    SetTimer,
    TimerKey,
    Write,
)
from meshwright.protocol.foundation.events import Synced
from meshwright.protocol.foundation.facts import Facts

Action = Callable[["Turn"], None]


class Turn:
    """Collects the effects of one step, and the disk changes that belong together.

    A broker takes the same one for all its steps: it leaves the effects to its host, and
    Journal.close takes the rest. number: of the step. facts: what machines may tell in it.
    """

    __slots__ = (
        "changes", "effects", "facts", "forgotten", "last_actions", "now_us", "number",
        "once_synced_actions",
    )  # fmt: skip

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us
        self.number = 0
        self.facts = Facts()
        self.effects: list[Effect] = []
        self.changes: dict[DiskKey, Any] = {}
        self.once_synced_actions: list[Action] = []
        self.forgotten: list[DiskKey] = []
        self.last_actions: list[Action] = []

    def ask(self, effect: Effect) -> None:
        """Add an effect to those of this step."""
        self.effects.append(effect)

    def timer(self, key: TimerKey, at_us: int) -> None:
        self.effects.append(SetTimer(key, at_us))

    def report(self, record: object) -> None:
        self.effects.append(Report(record))

    def write(self, key: DiskKey, value: object) -> None:
        """Change a key on disk together with all other changes of this step; None deletes."""
        self.changes[key] = value

    def delete(self, key: DiskKey) -> None:
        """Take a key from the disk together with all other changes of this step."""
        self.changes[key] = None

    def forget(self, *keys: DiskKey) -> None:
        """Delete keys with a later batch; should a crash keep them on disk, that does no harm."""
        self.forgotten += keys

    def at_end(self, action: Action) -> None:
        """Do something after all else that this step does; it may send, but write nothing."""
        self.last_actions.append(action)

    def once_synced(self, action: Action) -> None:
        """Do something when all that was written so far, this step included, is on disk."""
        self.once_synced_actions.append(action)


class Journal:
    """Batches that are not synced yet, and actions that wait for each; a crash loses both.

    Keys to forget go with the next batch, or with the next heartbeat. waiting: batches in order,
    each with the actions to do once it is synced.
    """

    __slots__ = ("_batch", "_forgotten", "waiting")

    def __init__(self) -> None:
        self._batch = 0
        self.waiting: deque[tuple[int, list[Action]]] = deque()
        self._forgotten: list[DiskKey] = []

    def close(self, turn: Turn) -> list[Effect]:
        """End a step: write its changes as one batch; do actions at once if nothing is unsynced."""
        while turn.once_synced_actions or turn.changes:
            actions, turn.once_synced_actions = turn.once_synced_actions, []
            if turn.changes:
                self.waiting.append((self._write(turn), actions))
                break
            if self.waiting:
                self.waiting[-1][1].extend(actions)
                break
            for action in actions:
                action(turn)
        if turn.forgotten:
            self.take_forgotten(turn)
        return turn.effects

    def take_forgotten(self, turn: Turn) -> None:
        """End a step that only has something forgotten."""
        self._forgotten += turn.forgotten
        turn.forgotten.clear()

    @property
    def batch(self) -> int:
        """The last batch that was written."""
        return self._batch

    @property
    def synced_batch(self) -> int:
        """The last batch that is on disk, with all that waited for it done."""
        return self.waiting[0][0] - 1 if self.waiting else self._batch

    def forget(self, turn: Turn) -> None:
        """Write a batch of deletions, if there are keys to forget."""
        if self._forgotten:
            self.waiting.append((self._write(turn), []))

    def synced(self, turn: Turn, event: Synced) -> None:
        """Do what waited for a batch and those before it, in order."""
        waiting, batch = self.waiting, event.batch
        while waiting and waiting[0][0] <= batch:
            for action in waiting.popleft()[1]:
                action(turn)

    def _write(self, turn: Turn) -> int:
        """Write the changes of a step, and what was to be forgotten up to now."""
        changes, turn.changes = turn.changes, {}
        if turn.forgotten:
            self._forgotten += [key for key in turn.forgotten if key not in changes]
            turn.forgotten = [key for key in turn.forgotten if key in changes]
        if self._forgotten:
            changes = dict.fromkeys(self._forgotten) | changes
            self._forgotten.clear()
        self._batch += 1
        turn.effects.append(Write(self._batch, changes))
        return self._batch


def nothing(_turn: Turn) -> None:
    """An action for which nobody waits."""
