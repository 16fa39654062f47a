"""How a watch counts time: slots, periods, and how long it waits and remembers.

Times are microseconds; slots and periods are numbered from 1970 on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from meshwright.model.times import SECOND_US

HOUR_US = 3600 * SECOND_US
DAY_US = 24 * HOUR_US


class Clockwork(msgspec.Struct, frozen=True):
    """Periods (T_free) of some slots each, and the weight of the last slot in a rate.

    late_us: how far a broker's events may come behind its newest. patience_us: how far a broker may
    be behind the others and is waited for. ahead_us: how far an event may be ahead of them.
    forget_us: what is older counts no more, and is remembered no longer.
    """

    slot_us: int
    period_slots: int
    alpha: float = 0.3
    late_us: int = HOUR_US
    patience_us: int = 10 * HOUR_US
    ahead_us: int = DAY_US
    forget_us: int = 7 * DAY_US

    @property
    def period_us(self) -> int:
        return self.slot_us * self.period_slots

    @property
    def stretch_us(self) -> int:
        """So short that who tells something in each of them is never too far ahead of itself."""
        return max(1, self.ahead_us // 2)


def moment(time_us: int) -> datetime:
    """A time in UTC, without saying so."""
    return datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None) + timedelta(microseconds=time_us)


def as_time(time_us: int) -> str:
    """A time as documents have it."""
    return f"{moment(time_us).isoformat()}Z"
