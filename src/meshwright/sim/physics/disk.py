"""A disk that keeps what was synced and forgets the rest in a crash."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from meshwright.protocol.foundation.effects import DiskKey, Write
from meshwright.protocol.foundation.events import Synced
from meshwright.sim.physics.agenda import Agenda
from meshwright.sim.physics.chance import Draws


class Disk:
    """Batches reach it in order, each some time after it was written, whole or not at all.

    tell: hears of each batch that is on it. kept: what is on it.
    """

    __slots__ = (
        "_agenda",
        "_delays_us",
        "_in_flight",
        "_life",
        "_stalled_until_us",
        "_tell",
        "_until_us",
        "kept",
    )  # fmt: skip

    def __init__(self, agenda: Agenda, delays_us: Draws, tell: Callable[[Synced], None]) -> None:
        self._agenda = agenda
        self._delays_us = delays_us
        self._tell = tell
        self._until_us = 0
        self._stalled_until_us = 0
        self._life = 0
        self._in_flight: deque[Write] = deque()
        self.kept: dict[DiskKey, Any] = {}

    def write(self, batch: Write) -> None:
        """Begin to write a batch."""
        agenda, delay_us = self._agenda, self._delays_us.next
        until_us = agenda.now_us + delay_us()
        if until_us > self._until_us:
            self._until_us = until_us
        self._in_flight.append(batch)
        agenda.at(self._until_us, self._arrive, self._life)

    def stall(self, until_us: int) -> None:
        """Sync nothing until a time."""
        self._stalled_until_us = max(self._stalled_until_us, until_us)

    def crash(self) -> None:
        """Forget what is under way."""
        self._life += 1
        self._stalled_until_us = 0
        self._in_flight.clear()

    def _arrive(self, life: int, _: None) -> None:
        if life != self._life:
            return
        if self._agenda.now_us < self._stalled_until_us:
            self._agenda.at(self._stalled_until_us, self._arrive, life)
            return
        batch = self._in_flight.popleft()
        kept = self.kept
        for key, value in batch.changes.items():
            if value is None:
                kept.pop(key, None)
            else:
                kept[key] = value
        tell = self._tell
        tell(Synced(batch.batch))
