"""When each of many connections must have said something: one timer for all of them."""

from __future__ import annotations

import asyncio
from typing import Protocol

from meshwright.live.system.clock import Clock
from meshwright.model.times import SECOND_US

TICK_US = 500_000
# A connection that is gone is forgotten after this long, whatever its deadline was.
LOOK_WITHIN_US = 30_000_000


class Timed(Protocol):
    """Something that ends if it is silent for too long."""

    @property
    def deadline_us(self) -> int | None:
        """When; it may move, and None means never for now."""

    def expire(self, now_us: int) -> None:
        """The deadline has passed."""


class Deadlines:
    """Looks at each connection about when it was last known to end, not whenever it speaks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[int, list[Timed]] = {}
        self._handle: asyncio.TimerHandle | None = None
        self._looked = clock.now_us() // TICK_US

    def watch(self, timed: Timed) -> None:
        """Look after a connection; one without a deadline must be given again when it has one."""
        deadline_us = timed.deadline_us
        if deadline_us is not None:
            look_us = min(deadline_us, self._clock.now_us() + LOOK_WITHIN_US)
            bucket = max(look_us // TICK_US, self._looked) + 1
            self._buckets.setdefault(bucket, []).append(timed)
        if self._handle is None:
            self._wait()

    def close(self) -> None:
        """Look no more."""
        if self._handle is not None:
            self._handle.cancel()

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._handle = loop.call_later(TICK_US / SECOND_US, self._look)

    def _look(self) -> None:
        now_us = self._clock.now_us()
        first, self._looked = self._looked, now_us // TICK_US
        for bucket in range(first, self._looked + 1):
            for timed in self._buckets.pop(bucket, ()):
                deadline_us = timed.deadline_us
                if deadline_us is not None and deadline_us <= now_us:
                    timed.expire(now_us)
                else:
                    self.watch(timed)
        self._wait()
