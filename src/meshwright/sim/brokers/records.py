"""Everything that brokers report, with time and place, and a digest of all of it."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

Recorded = tuple[int, str, Any]


class Records:
    """What was reported: (time, broker, record). The same run gives the same digest."""

    __slots__ = ("_digest", "_encoder", "all")

    def __init__(self) -> None:
        self.all: list[Recorded] = []
        self._encoder = msgspec.msgpack.Encoder()
        self._digest = hashlib.sha256()

    def add(self, time_us: int, broker: str, record: Any) -> None:
        """Keep a record."""
        self.all.append((time_us, broker, record))
        self._digest.update(self._encoder.encode((time_us, broker, type(record).__name__, record)))

    def digest(self) -> str:
        """The same for the same records in the same order."""
        return self._digest.hexdigest()
