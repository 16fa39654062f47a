"""What happens when: integer microseconds, and one total order by (time, sequence)."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

# Longer than most that is under way takes, shorter than most timers.
NEAR_US = 50_000

Handler = Callable[[Any, Any], None]
Entry = tuple[int, int, Handler, Any, Any]


class Agenda:
    """A virtual clock and everything still to happen.

    An entry is a handler with two arguments, so that the busy ones need no closure. What happens at
    the same microsecond happens in the order in which it was put down. What happens at the horizon
    or past it waits apart, so that the heap of what is near stays small. Who has the most to put
    down pushes onto near itself, with the next place.
    """

    __slots__ = ("_later", "horizon_us", "near", "next_place", "now_us")

    def __init__(self) -> None:
        self.now_us = 0
        self.horizon_us = 0
        self.near: list[Entry] = []
        self._later: list[Entry] = []
        self.next_place: Callable[[], int] = count(1).__next__

    def __len__(self) -> int:
        return len(self.near) + len(self._later)

    def at(self, time_us: int, handler: Handler, subject: Any = None, value: Any = None) -> None:
        """Call handler(subject, value) at a time that has not passed."""
        assert time_us >= self.now_us, "the past cannot be changed"
        entries = self.near if time_us < self.horizon_us else self._later
        next_place = self.next_place
        heappush(entries, (time_us, next_place(), handler, subject, value))

    def run_until(self, time_us: int) -> None:
        """Let everything happen up to a time, which it then is."""
        near, take = self.near, heappop
        while near or self._look_ahead(time_us):
            self.now_us, _, handler, subject, value = take(near)
            handler(subject, value)
        self.now_us = time_us

    def _look_ahead(self, time_us: int) -> bool:
        """Move the horizon past what happens next, but not past a time; False if that is later."""
        near, later = self.near, self._later
        if not later or later[0][0] > time_us:
            return False
        self.horizon_us = min(later[0][0] + NEAR_US, time_us + 1)
        while later and later[0][0] < self.horizon_us:
            near.append(heappop(later))
        return True
