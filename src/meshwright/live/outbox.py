"""Connections with something to send: each is written to once, at the end of the loop's turn."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Flushed(Protocol):
    """Something that gathers what it is to write."""

    def flush(self) -> None:
        """Write it all."""


class Outbox:
    """All connections of a process that wait to be written to; each is to be added once."""

    __slots__ = ("_loop", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[Flushed] = []

    def add(self, one: Flushed) -> None:
        """Have a connection flushed soon."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(one)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.flush()
