"""How often messages used which links, in bounded memory: the space-saving counter [OCBR, 5.1].

A class is the set of links that one message used at this broker. When all places are taken, a new
class takes over the place of the one counted least, and its count as what it may be off by. So the
classes kept are those seen most, whatever came when (Metwally, Agrawal and El Abbadi, 2005).
"""

from __future__ import annotations

from meshwright.errors import CallerError

LinkSet = frozenset[str]


class TrafficClasses:
    """Counts of link sets with at most kept_max of them in memory; every count takes O(1).

    Whatever is counted n times among all is known as at least n - total / kept_max times, and never
    as more than n. With no more than kept_max classes, counts are exact.
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
        """Begin anew."""
        self.total = 0
        # What each class was counted at most, and how much of that may belong to others.
        self._uppers: dict[LinkSet, int] = {}
        self._excesses: dict[LinkSet, int] = {}
        # Classes by their upper count, the one that has it longest first.
        self._levels: dict[int, dict[LinkSet, None]] = {}
        self._least = 0

    def count(self, links: LinkSet) -> None:
        """One more message used these links."""
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
        """Links and the messages that surely used them, by links; those with none are left out."""
        found = (
            (tuple(sorted(links)), upper - self._excesses[links])
            for links, upper in self._uppers.items()
        )
        return sorted(row for row in found if row[1])

    def _make_room(self) -> int:
        """Give up the class counted least if all places are taken; returns its count."""
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
