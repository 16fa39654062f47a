"""Counts how many frames used which links, in bounded memory: space-saving [OCBR, 5.1].

A traffic class is the set of links that one frame used at this broker. When kept_max classes are
counted, a new class replaces the one with the lowest count and starts from that count, which is
noted as its possible error. So the most frequent classes are kept, in whatever order frames come
(Metwally, Agrawal and El Abbadi, 2005).
"""

from __future__ import annotations

from meshwright.errors import CallerError

LinkSet = frozenset[str]


class TrafficClasses:
    """Counts of link sets, of which at most kept_max are in memory; counting one takes O(1).

    A class that occurred n times is reported with at least n - total / kept_max and at most n.
    While there are no more than kept_max classes, counts are exact.
    """

    __slots__ = ("_excesses", "_kept_max", "_least", "_levels", "_uppers", "total")

    def __init__(self, kept_max: int) -> None:
        if kept_max < 1:
            raise CallerError(f"{kept_max} classes cannot be counted; keep 1 or more")
        self._kept_max = kept_max
        self.clear()

    def __len__(self) -> int:
        return len(self._uppers)

    def clear(self) -> None:
        """Drop all counts."""
        self.total = 0
        # The highest possible count of each class, and how much of it may be other classes'.
        self._uppers: dict[LinkSet, int] = {}
        self._excesses: dict[LinkSet, int] = {}
        # Classes by their highest possible count, the one that reached it first in front.
        self._levels: dict[int, dict[LinkSet, None]] = {}
        self._least = 0

    def count(self, links: LinkSet) -> None:
        """Count one more frame that used these links."""
        self.total += 1
        upper = self._uppers.get(links)
        if upper is None:
            upper = self._make_room()
            self._excesses[links] = upper
        else:
            self._leave(links, upper)
        self._uppers[links] = upper + 1
        self._levels.setdefault(upper + 1, {})[links] = None
        if not upper:
            self._least = 1
        elif self._least not in self._levels:
            self._least = upper + 1

    def rows(self) -> list[tuple[tuple[str, ...], int]]:
        """Each class with the frames that surely used it, sorted by links; without those of 0."""
        found = (
            (tuple(sorted(links)), upper - self._excesses[links])
            for links, upper in self._uppers.items()
        )
        return sorted(row for row in found if row[1])

    def _make_room(self) -> int:
        """Drop the class with the lowest count if there is no room; returns that count."""
        if len(self._uppers) < self._kept_max:
            return 0
        least = self._least
        evicted = next(iter(self._levels[least]))
        self._leave(evicted, least)
        del self._uppers[evicted], self._excesses[evicted]
        return least

    def _leave(self, links: LinkSet, upper: int) -> None:
        level = self._levels[upper]
        del level[links]
        if not level:
            del self._levels[upper]
