"""What happens when: integer microseconds, and one total order by (time, sequence)."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

Handler = Callable[[Any, Any], None]
Entry = tuple[int, int, Handler, Any, Any]


class Agenda:
    """A virtual clock and everything still to happen.

    An entry is a handler with two arguments, so that the busy ones need no closure. What happens at
    the same microsecond happens in the order in which it was put down. Who has the most to put down
    pushes onto entries itself, with the next place.
    """

    __slots__ = ("entries", "next_place", "now_us")

    def __init__(self) -> None:
        self.now_us = 0
        self.entries: list[Entry] = []
        self.next_place: Callable[[], int] = count(1).__next__

    def __len__(self) -> int:
        return len(self.entries)

    def at(self, time_us: int, handler: Handler, subject: Any = None, value: Any = None) -> None:
        """Call handler(subject, value) at a time that has not passed."""
        assert time_us >= self.now_us, "the past cannot be changed"
        heappush(self.entries, (time_us, self.next_place(), handler, subject, value))

    def run_until(self, time_us: int) -> None:
        """Let everything happen up to a time, which it then is."""
        entries, take = self.entries, heappop
        while entries and entries[0][0] <= time_us:
            self.now_us, _, handler, subject, value = take(entries)
            handler(subject, value)
        self.now_us = time_us
