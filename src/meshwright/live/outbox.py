"""Connections with something to send: each is written to once for all that makes it speak."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Flushed(Protocol):
    """Something that gathers what it is to write."""

    def flush(self) -> None:
        """Write it all."""


class Outbox:
    """All connections of a process that wait to be written to; each is to be added once.

    is_held: whoever set this flushes by itself, so that no turn of the loop is spent on it.
    """

    __slots__ = ("_loop", "_waiting", "is_held")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.is_held = False
        self._loop = loop
        self._waiting: list[Flushed] = []

    def add(self, one: Flushed) -> None:
        """Have a connection flushed soon."""
        if not self._waiting and not self.is_held:
            self._loop.call_soon(self.flush)
        self._waiting.append(one)

    def flush(self) -> None:
        """Write to all that wait."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                one.flush()
