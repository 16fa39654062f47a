"""Connections with something to send: each is written to once for all that there is to send."""

from __future__ import annotations

import asyncio
from typing import Protocol

from meshwright.live.system.clock import Clock

# Who is written to again so soon is one to whom many speak.
TOGETHER_US = 20


class Flushed(Protocol):
    """Something that gathers what it is to write; flushed_us: when it was last told to."""

    flushed_us: int

    def flush(self) -> None:
        """Write it all."""


class Outbox:
    """All connections of a process that wait to be written to; each is to be added once.

    From is_held on until release, what is to be sent is gathered, and then written without another
    turn of the loop: whoever waits for an answer has it earlier, and at less cost. A client to
    which many speak gets what they say at the end of the loop's turn, together.
    """

    __slots__ = ("_clock", "_held", "_loop", "_waiting", "is_held")

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self.is_held = False
        self._held: list[Flushed] = []
        self._waiting: list[Flushed] = []

    def add(self, one: Flushed) -> None:
        """Have a connection flushed soon."""
        if self.is_held:
            self._held.append(one)
        else:
            self._add_waiting(one)

    def release(self, now_us: int) -> None:
        """Write what was gathered."""
        self.is_held = False
        if not self._held:
            return
        held, self._held = self._held, []
        for one in held:
            if now_us - one.flushed_us < TOGETHER_US:
                self._add_waiting(one)
            else:
                one.flushed_us = now_us
                one.flush()

    def _add_waiting(self, one: Flushed) -> None:
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(one)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        now_us = self._clock.now_us()
        for one in waiting:
            one.flushed_us = now_us
            one.flush()
