"""Which files were heard already: a copy, or files that were put together, count once.

A file is known by what its rows say (model.schema.RECORDED_BY), not by its name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import msgspec


class Claim(NamedTuple):
    """A file has parts first to last of a series, and perhaps some between; newest_us: its rows'.

    series: one table of one life of a broker, whose files are counted from 1. file: tells files
    that come at once apart.
    """

    series: str
    first: int
    last: int
    file: int
    newest_us: int


class Series(msgspec.Struct):
    """Ranges of parts, ascending and apart from each other."""

    ranges: list[tuple[int, int]] = []
    newest_us: int = 0

    def has(self, part: int) -> bool:
        place = bisect_right(self.ranges, (part, part + 1)) - 1
        candidates = self.ranges[max(place, 0) : place + 2]
        return any(first <= part <= last for first, last in candidates)

    def add(self, first: int, last: int) -> None:
        joined: list[tuple[int, int]] = []
        for one in sorted([*self.ranges, (first, last)]):
            if joined and one[0] <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(joined[-1][1], one[1]))
            else:
                joined.append(one)
        self.ranges = joined


class Parts(msgspec.Struct):
    """All that was heard, by series."""

    series: dict[str, Series] = {}

    def has(self, series: str, part: int) -> bool:
        return series in self.series and self.series[series].has(part)

    def hear(self, claims: Iterable[Claim]) -> None:
        """These are heard from now on."""
        for claim in claims:
            series = self.series.setdefault(claim.series, Series())
            series.add(claim.first, claim.last)
            series.newest_us = max(series.newest_us, claim.newest_us)

    def forget(self, before_us: int) -> None:
        """Drop series that tell of nothing since a time: their rows would be too old anyway."""
        self.series = {name: one for name, one in self.series.items() if one.newest_us >= before_us}


class NewParts:
    """Of files that come at once, from which one a part is taken that was not heard before."""

    def __init__(self, parts: Parts, claims: Iterable[Claim]) -> None:
        self._parts = parts
        self._claims: dict[str, list[Claim]] = {}
        for claim in claims:
            self._claims.setdefault(claim.series, []).append(claim)
        self._files: dict[tuple[str, int], int | None] = {}

    def takes(self, series: str, part: int, file: int) -> bool:
        """Whether rows of a part count that stand in this file."""
        if (series, part) not in self._files:
            self._files[series, part] = self._chosen(series, part)
        return self._files[series, part] == file

    def _chosen(self, series: str, part: int) -> int | None:
        if self._parts.has(series, part):
            return None
        claims = self._claims.get(series, ())
        return min((one.file for one in claims if one.first <= part <= one.last), default=None)
