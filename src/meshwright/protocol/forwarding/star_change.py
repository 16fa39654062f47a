"""What a broker on a tree keeps while the star it belongs to is redrawn.

A frame goes through a star by the tables of one shape only, those of the broker where it entered,
so that it misses nobody. Until nothing more of the old shape is under way, there are both. What
changes filters meanwhile waits, frames never do [OCBR, 5.3].
"""

from __future__ import annotations

from collections.abc import Mapping

from meshwright.protocol.forwarding.tree_tables import TreeTables
from meshwright.protocol.foundation.turn import Action

# What waits at most while a star is redrawn; with more it goes on without waiting.
PUT_OFF_MAX = 4_096


class StarChange:
    """A star before and after it is redrawn; versions: of its brokers' links, after."""

    __slots__ = ("_before", "_versions", "after", "before_links", "links")

    def __init__(
        self,
        versions: Mapping[str, int],
        before: TreeTables,
        after: TreeTables,
        before_links: tuple[str, ...],
        links: tuple[str, ...],
    ) -> None:
        self._versions = versions
        self._before = before
        self.after = after
        self.before_links = before_links
        self.links = (*before_links, *links)

    def tables(self, current: TreeTables, peer: str, version: int) -> TreeTables:
        """Those by which a frame goes on that a peer sent by its tables of a version."""
        known = self._versions.get(peer)
        if known is None:
            return current
        return self.after if version >= known else self._before


class Pause:
    """What is put off for a while, in order."""

    __slots__ = ("_besides", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[Action] | None = None
        self._besides: str | None = None

    @property
    def is_on(self) -> bool:
        return self._waiting is not None

    @property
    def is_full(self) -> bool:
        return self._waiting is not None and len(self._waiting) >= PUT_OFF_MAX

    def begin(self, besides: str | None) -> None:
        """Put off everything from now on, but for what one peer says."""
        self._besides = besides
        if self._waiting is None:
            self._waiting = []

    def takes(self, action: Action, peer: str | None = None) -> bool:
        """Whether an action is put off; peer: who says it."""
        if self._waiting is None or (peer is not None and peer == self._besides):
            return False
        self._waiting.append(action)
        return True

    def end(self) -> list[Action]:
        """All that was put off."""
        waiting, self._waiting = self._waiting, None
        return waiting or []
