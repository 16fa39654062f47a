"""How many connections there are, in all and from each address, and how many there may be."""

from __future__ import annotations

from collections import Counter

from meshwright.live.settings import LimitSettings
from meshwright.live.system.file_budget import file_budget


class Crowd:
    """All connections of a broker; refused_count: those that were too many.

    They are never so many that no files are left for anything else.
    """

    def __init__(self, limits: LimitSettings) -> None:
        self.refused_count = 0
        self._limits = limits
        self._files = file_budget().clients
        self._from: Counter[str] = Counter()
        self._total = 0

    def enter(self, address: str) -> bool:
        """One more; False, and nothing is counted, if that is too many."""
        total_max = self._limits.connections_max or self._files
        total_max = min(total_max, self._files or total_max)
        address_max = self._limits.connections_per_address_max
        if (total_max and self._total >= total_max) or (
            address_max and self._from[address] >= address_max
        ):
            self.refused_count += 1
            return False
        self._total += 1
        self._from[address] += 1
        return True

    def leave(self, address: str) -> None:
        """One that was let in is gone."""
        self._total -= 1
        self._from[address] -= 1
        if not self._from[address]:
            del self._from[address]
