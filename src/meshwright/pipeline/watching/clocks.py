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

    newest_us: the newest time of each stretch as long as an event may be ahead, as an event that
    lies too far ahead must not hide the others.
    """

    newest_us: dict[int, int] = {}
    written_us: int = 0


class Reading(msgspec.Struct, frozen=True):
    """A broker's clock beside the network's; is_waited_for: no period is judged without it."""

    broker: str
    newest_us: int
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
        stretch = newest_us // clockwork.ahead_us
        clock.newest_us[stretch] = max(clock.newest_us.get(stretch, 0), newest_us)

    def advance(self, clockwork: Clockwork) -> None:
        """Work out the watermark anew, once all that came at once was heard."""
        waited = [one for one in self.readings(clockwork) if one.is_waited_for]
        if waited:
            known_us = min(one.newest_us for one in waited) - clockwork.late_us
            self.watermark_us = max(self.watermark_us, known_us)
        self._tidy(clockwork)

    def readings(self, clockwork: Clockwork) -> list[Reading]:
        """Every broker's clock beside the network's, in the order of their names."""
        if not self.brokers:
            return []
        middle_us = self._middle_us(clockwork)
        readings = []
        for broker, clock in sorted(self.brokers.items()):
            newest_us = self._newest_us(clockwork, clock, middle_us)
            is_waited_for = newest_us is not None and (
                self._writes(clockwork, clock) and newest_us >= middle_us - clockwork.patience_us
            )
            shown_us = max(clock.newest_us.values()) if newest_us is None else newest_us
            readings.append(Reading(broker, shown_us, shown_us - middle_us, is_waited_for))
        return readings

    def lost(self, before_us: int) -> set[str]:
        """Brokers that have told nothing since a time."""
        return {
            name
            for name, clock in self.brokers.items()
            if max(clock.newest_us.values()) < before_us
        }

    def _middle_us(self, clockwork: Clockwork) -> int:
        """Of those that still write; of two the later, as the other one may be dead."""
        writing = [one for one in self.brokers.values() if self._writes(clockwork, one)]
        times = sorted(max(one.newest_us.values()) for one in writing)
        return times[len(times) // 2]

    def _writes(self, clockwork: Clockwork, clock: Clock) -> bool:
        last_us = max(one.written_us for one in self.brokers.values())
        return clock.written_us >= last_us - clockwork.patience_us

    def _newest_us(self, clockwork: Clockwork, clock: Clock, middle_us: int) -> int | None:
        """Its newest time that is not too far ahead; None if all are."""
        bound_us = middle_us + clockwork.ahead_us
        return max((time for time in clock.newest_us.values() if time <= bound_us), default=None)

    def _tidy(self, clockwork: Clockwork) -> None:
        """Keep of each broker the newest time that counts, and those ahead of it."""
        middle_us = self._middle_us(clockwork) if self.brokers else 0
        for clock in self.brokers.values():
            newest_us = self._newest_us(clockwork, clock, middle_us)
            if newest_us is not None:
                kept = {key: time for key, time in clock.newest_us.items() if time >= newest_us}
                clock.newest_us = kept
