"""Rows that wait for a time too far ahead of the network's clock: how many, and of which broker."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from meshwright.pipeline.watching.clockwork import Clockwork


class Distant(msgspec.Struct):
    """By broker, of each stretch of time how many rows and the newest; and how many were told."""

    stretches: dict[str, dict[int, tuple[int, int]]] = {}
    told: dict[str, int] = {}

    def hear(self, clockwork: Clockwork, broker: str, time_us: int, count: int) -> None:
        """These wait from now on."""
        stretches = self.stretches.setdefault(broker, {})
        stretch = time_us // clockwork.stretch_us
        known, newest_us = stretches.get(stretch, (0, 0))
        stretches[stretch] = known + count, max(newest_us, time_us)

    def changes(self, bound_us: int) -> Iterator[tuple[str, int, int]]:
        """Brokers, how many rows more or fewer wait than were told, and for which time the last."""
        for broker, stretches in sorted(self.stretches.items()):
            far = {key: one for key, one in stretches.items() if one[1] > bound_us}
            self.stretches[broker] = far
            count = sum(count for count, _ in far.values())
            if count != self.told.get(broker, 0):
                newest_us = max((time_us for _, time_us in far.values()), default=bound_us)
                yield broker, count - self.told.get(broker, 0), newest_us
            self.told[broker] = count
        self.stretches = {broker: far for broker, far in self.stretches.items() if far}
        self.told = {broker: self.told[broker] for broker in self.stretches}
