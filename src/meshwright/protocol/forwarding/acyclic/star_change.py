"""What a broker on a tree keeps while a star that it belongs to is redrawn.

A frame crosses a star by the tables of one shape only, those of the broker where it entered, so
that it misses no broker. Both shapes are kept until no frame travels by the old one. Changes of
filters wait meanwhile; frames never do [OCBR, 5.3].
"""

from __future__ import annotations

from collections.abc import Mapping

from meshwright.protocol.forwarding.acyclic.tree_tables import TreeTables
from meshwright.protocol.foundation.turn import Action

# How many actions may wait while a star is redrawn; with more, none waits any longer.
PUT_OFF_MAX = 4_096


class StarChange:
    """A star before and after it is redrawn; versions: of its brokers' rows after it."""

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
        """The tables for a frame that a peer sent by its tables of a version."""
        known = self._versions.get(peer)
        if known is None:
            return current
        return self.after if version >= known else self._before


class Pause:
    """Actions that are put off until a star is redrawn, in order."""

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
        """Put off all actions from now on, but those for messages of one peer."""
        self._besides = besides
        if self._waiting is None:
            self._waiting = []

    def takes(self, action: Action, peer: str | None = None) -> bool:
        """Put an action off, if pausing; returns whether it was. peer: the sender, if any."""
        if self._waiting is None or (peer is not None and peer == self._besides):
            return False
        self._waiting.append(action)
        return True

    def end(self) -> list[Action]:
        """Stop pausing; returns the actions that were put off."""
        waiting, self._waiting = self._waiting, None
        return waiting or []
