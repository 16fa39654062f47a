"""Clocks that are wrong: each broker reads its own."""

from __future__ import annotations

import msgspec

MILLION = 1_000_000


class SkewedClock(msgspec.Struct, frozen=True):
    """Shows true time * (1 + drift) + offset; a drift is slower than time itself."""

    offset_us: int = 0
    drift_ppm: int = 0

    def local_us(self, true_us: int) -> int:
        """What the clock shows at a true time."""
        return true_us + true_us * self.drift_ppm // MILLION + self.offset_us

    def true_us(self, local_us: int) -> int:
        """The first true time at which the clock shows this or more."""
        # As fractions, local = true * (MILLION + drift) / MILLION + offset, rounded down.
        return -(-(local_us - self.offset_us) * MILLION // (MILLION + self.drift_ppm))


TRUE_CLOCK = SkewedClock()
