from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from meshwright.live.clients.deadlines import LOOK_WITHIN_US, TICK_US, Deadlines
from meshwright.live.system.clock import Clock

DAY_US = 86_400_000_000


class SteppedClock(Clock):
    """A clock that a test puts forward."""

    def __init__(self) -> None:
        self.time_us = 1_000_000

    def now_us(self) -> int:
        return self.time_us


class Line:
    """A connection that may be silent for a day."""

    def __init__(self, deadline_us: int) -> None:
        self.deadline_us: int | None = deadline_us
        self.expired: list[int] = []

    def expire(self, now_us: int) -> None:
        self.expired.append(now_us)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_line_is_forgotten_soon_after_it_is_gone_however_long_it_might_have_been_silent(
    is_gone: bool,
) -> None:
    async def story() -> None:
        clock = SteppedClock()
        deadlines = Deadlines(clock)
        line = Line(clock.time_us + DAY_US)
        deadlines.watch(line)
        if is_gone:
            line.deadline_us = None
        clock.time_us += LOOK_WITHIN_US + 2 * TICK_US
        deadlines._look()
        left = weakref.ref(line)
        del line
        gc.collect()
        assert (left() is None) is is_gone
        found = left()
        if found is not None:
            clock.time_us += DAY_US
            deadlines._look()
            assert found.expired == [clock.time_us]
        deadlines.close()

    asyncio.run(story())
