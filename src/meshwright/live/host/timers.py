"""A broker's timers on the event loop: one handle, whatever their number."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

from meshwright.live.system.clock import Clock
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.effects import TimerKey


class Timers:
    """Tells keys when their time has come; a key that is set again has only its last time."""

    def __init__(self, clock: Clock, fire: Callable[[TimerKey], None]) -> None:
        self._clock = clock
        self._fire = fire
        self._times_us: dict[TimerKey, int] = {}
        self._heap: list[tuple[int, TimerKey]] = []
        self._handle: asyncio.TimerHandle | None = None
        self._waits_for_us = 0

    def set(self, key: TimerKey, at_us: int) -> None:
        """Fire a key at a time."""
        self._times_us[key] = at_us
        heapq.heappush(self._heap, (at_us, key))
        if self._handle is None or at_us < self._waits_for_us:
            self._wait()

    def close(self) -> None:
        """Fire nothing any more."""
        self._times_us.clear()
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _wait(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if self._heap:
            self._waits_for_us = self._heap[0][0]
            delay_s = max(0, self._waits_for_us - self._clock.now_us()) / SECOND_US
            self._handle = asyncio.get_running_loop().call_later(delay_s, self._due)

    def _due(self) -> None:
        self._handle = None
        now_us = self._clock.now_us()
        while self._heap and self._heap[0][0] <= now_us:
            at_us, key = heapq.heappop(self._heap)
            if self._times_us.get(key) == at_us:
                del self._times_us[key]
                self._fire(key)
        if self._handle is None:
            self._wait()
