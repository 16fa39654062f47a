"""What a run in the city counted: unicast against multicast, by time and by kind of message.

Counts are hops on the tree. The last hop, from a broker to its client, counts or not as asked: the
paper does not say. [mobility, 4.5]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from meshwright.model.times import SECOND_US

WINDOW_US = 10 * 60 * SECOND_US
# Peaks are those of half hours.
WINDOWS_A_PEAK = 3
MIGRATION = ("subscriptions", "induced")
UNICAST = ("request", *MIGRATION, "stored", "exchange", "home")


@dataclass(frozen=True, slots=True)
class CityCounts:
    """What was counted, by window of ten minutes; owed and delivered are of all subscribers."""

    windows: tuple[Counter[str], ...]
    owed: int
    delivered: int

    @property
    def total(self) -> Counter[str]:
        """All windows together."""
        return _sum(self.windows)

    def ratio(self, *, until_s: int | None = None, with_last_hop: bool = True) -> float:
        """Unicast hops for each multicast hop, up to a time after the begin."""
        count = len(self.windows) if until_s is None else until_s * SECOND_US // WINDOW_US
        return ratio(_sum(self.windows[:count]), with_last_hop=with_last_hop)

    def half_hours(self) -> list[Counter[str]]:
        """What was counted in each half hour."""
        starts = range(0, len(self.windows), WINDOWS_A_PEAK)
        return [_sum(self.windows[start : start + WINDOWS_A_PEAK]) for start in starts]

    def peak(self, *, with_last_hop: bool = True) -> tuple[float, int]:
        """The highest ratio of a half hour, and which one that is."""
        ratios = [ratio(one, with_last_hop=with_last_hop) for one in self.half_hours()]
        highest = max(ratios)
        return highest, ratios.index(highest)

    def share(self, *kinds: str) -> float:
        """The part of some kinds of message in all unicast hops between brokers."""
        total = self.total
        return sum(total[kind] for kind in kinds) / max(1, unicast(total, with_last_hop=False))


def unicast(counts: Counter[str], *, with_last_hop: bool = True) -> int:
    """Hops that are there because clients move."""
    last = counts["forwarded"] if with_last_hop else 0
    return sum(counts[kind] for kind in UNICAST) + last


def multicast(counts: Counter[str], *, with_last_hop: bool = True) -> int:
    """Hops that spread events."""
    return counts["publication"] + (counts["live"] if with_last_hop else 0)


def ratio(counts: Counter[str], *, with_last_hop: bool = True) -> float:
    """Unicast for each multicast hop."""
    spread = multicast(counts, with_last_hop=with_last_hop)
    return unicast(counts, with_last_hop=with_last_hop) / max(1, spread)


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter())
