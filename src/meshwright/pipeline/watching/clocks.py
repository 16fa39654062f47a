"""Brokers' clocks: how far each has come, and up to where everything is known.

No broker's clock says when another one is late. The network's clock is the middle one of those that
write; who is further ahead of it than allowed does not move it, and who is further behind than
patience allows, or has written nothing for so long, is not waited for.
"""

from __future__ import annotations

import msgspec

from meshwright.pipeline.watching.clockwork import Clockwork


class Clock(msgspec.Struct):
    """One broker's: its newest times, and when its newest file was written.

    newest_us: the newest time of each stretch, as an event that lies too far ahead must not hide
    the others.
    """

    newest_us: dict[int, int] = {}
    written_us: int = 0

    def told_us(self, bound_us: int) -> int | None:
        """Its newest time up to a bound; None if all are later."""
        return max((time for time in self.newest_us.values() if time <= bound_us), default=None)

    def reached_us(self, bound_us: int) -> int:
        """The same, or the first of its times if all are later, but none after it was written."""
        told_us = self.told_us(bound_us)
        first_us = min(self.newest_us.values())
        return min(first_us if told_us is None else told_us, self.written_us)

    def last_us(self) -> int:
        """Its newest time, however far ahead."""
        return max(self.newest_us.values())


class Reading(msgspec.Struct, frozen=True):
    """A broker's clock beside the network's; is_waited_for: no period is judged without it.

    reached_us: its newest time, but none after its newest file was written, which proves it wrong.
    """

    broker: str
    newest_us: int
    reached_us: int
    ahead_us: int
    is_waited_for: bool


class Clocks(msgspec.Struct):
    """All brokers' clocks; watermark_us: what happened before this is known, and only grows."""

    brokers: dict[str, Clock] = {}
    watermark_us: int = 0

    def hear(self, clockwork: Clockwork, broker: str, newest_us: int, written_us: int) -> None:
        """A file of a broker, written at a time, has this as one of its newest times."""
        clock = self.brokers.setdefault(broker, Clock())
        clock.written_us = max(clock.written_us, written_us)
        stretch = newest_us // clockwork.stretch_us
        clock.newest_us[stretch] = max(clock.newest_us.get(stretch, 0), newest_us)

    def advance(self, clockwork: Clockwork) -> None:
        """Work out the watermark anew, once all that came at once was heard."""
        waited = [one for one in self.readings(clockwork) if one.is_waited_for]
        if waited:
            known_us = min(one.reached_us for one in waited) - clockwork.late_us
            self.watermark_us = max(self.watermark_us, known_us)
        self._tidy(clockwork)

    def readings(self, clockwork: Clockwork) -> list[Reading]:
        """Every broker's clock beside the network's, in the order of their names."""
        middle_us = self._middle_us(clockwork)
        readings = []
        for broker, clock in sorted(self.brokers.items()):
            told_us = clock.told_us(middle_us + clockwork.ahead_us)
            newest_us = clock.last_us() if told_us is None else told_us
            reached_us = min(newest_us, clock.written_us)
            is_waited_for = (
                told_us is not None
                and self._writes(clockwork, clock)
                and reached_us >= middle_us - clockwork.patience_us
            )
            ahead_us = newest_us - middle_us
            readings.append(Reading(broker, newest_us, reached_us, ahead_us, is_waited_for))
        return readings

    def bound_us(self, clockwork: Clockwork) -> int:
        """What is later is too far ahead to move a clock."""
        return self._middle_us(clockwork) + clockwork.ahead_us

    def lost(self, clockwork: Clockwork, before_us: int) -> set[str]:
        """Brokers that have told nothing since a time, but for what lies too far ahead."""
        return {one.broker for one in self.readings(clockwork) if one.newest_us < before_us}

    def _middle_us(self, clockwork: Clockwork) -> int:
        """What most of those that write have reached, and from there on the middle one of them.

        Of two the later, as the other one may be dead; but nobody is followed over a gap that is
        longer than an event may be ahead, unless most are beyond it.
        """
        writing = [one for one in self.brokers.values() if self._writes(clockwork, one)]
        if not writing:
            return 0
        middle_us, next_us = -1, max(one.last_us() for one in writing)
        while next_us != middle_us:
            middle_us, bound_us = next_us, next_us + clockwork.ahead_us
            next_us = sorted(one.reached_us(bound_us) for one in writing)[(len(writing) - 1) // 2]
        middle_us = -1
        while next_us > middle_us:
            middle_us, bound_us = next_us, next_us + clockwork.ahead_us
            near = [one for one in writing if one.told_us(bound_us) is not None]
            reached = sorted(one.reached_us(bound_us) for one in near)
            next_us = reached[len(reached) // 2] if reached else middle_us
        return middle_us

    def _writes(self, clockwork: Clockwork, clock: Clock) -> bool:
        last_us = max(one.written_us for one in self.brokers.values())
        return clock.written_us >= last_us - clockwork.patience_us

    def _tidy(self, clockwork: Clockwork) -> None:
        """Keep of each broker the newest time that counts, and those ahead of it."""
        bound_us = self.bound_us(clockwork)
        for clock in self.brokers.values():
            told_us = clock.told_us(bound_us)
            if told_us is not None:
                kept = {key: time for key, time in clock.newest_us.items() if time >= told_us}
                clock.newest_us = kept
