"""Tells all brokers which rows of the tree have changed, from neighbour to neighbour.

Nobody waits for it. Each broker remembers which versions a neighbour knows, for as long as their
conversation lasts, and tells it only newer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meshwright.protocol.adaptation.star_messages import TreeTold
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.reconfiguration.tree_rows import TreeRow

NEWS = ("tree news",)


class TreeNews:
    """One broker's part in spreading rows.

    heard: takes rows that are new here.
    other_epoch: called when a peer has another epoch in force.
    """

    def __init__(
        self,
        gather_us: int,
        in_force: InForce,
        *,
        send: Callable[[Turn, str, Any], None],
        neighbours: Callable[[], tuple[str, ...]],
        heard: Callable[[Turn, tuple[TreeRow, ...]], None],
        other_epoch: Callable[[Turn, str, int], None],
    ) -> None:
        self._gather_us = gather_us
        self._in_force = in_force
        self._send = send
        self._neighbours = neighbours
        self._heard = heard
        self._other_epoch = other_epoch
        # For each peer, the versions of rows that it knows, by broker.
        self._known: dict[str, dict[str, int]] = {}
        self._has_timer = False

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (on(TreeTold, self._told),)

    def timers(self) -> dict[str, Action]:
        """Map each timer to its method."""
        return {NEWS[0]: self._flush}

    def begin(self) -> None:
        """Another overlay is in force, and none of its rows has changed yet."""
        self._known.clear()

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer may have forgotten what it was told: tell it again."""
        self._known.pop(peer, None)
        self.spread(turn)

    def note(self, peer: str, rows: Iterable[TreeRow]) -> None:
        """Note that a peer knows these rows."""
        known = self._known.setdefault(peer, {})
        for row in rows:
            known[row.broker] = max(row.version, known.get(row.broker, 0))

    def spread(self, turn: Turn) -> None:
        """Tell neighbours, after gather_us, the rows that they may not know."""
        if self._in_force.versions and not self._has_timer:
            self._has_timer = True
            turn.timer(NEWS, turn.now_us + self._gather_us)

    def tell(self, turn: Turn, peer: str) -> None:
        """Tell a peer the rows that it may not know, once they are on this broker's disk.

        Otherwise a crash could take this broker back to older rows than it has told.
        """
        known = self._known.get(peer, {})
        rows = [row for row in self._in_force.rows() if row.version > known.get(row.broker, 0)]
        if rows:
            self.note(peer, rows)
            message = TreeTold(self._in_force.epoch, tuple(rows))
            turn.once_synced(lambda later: self._send(later, peer, message))

    def tell_all(self, turn: Turn, peer: str) -> None:
        """Tell a peer all rows that have changed, whatever it was told before."""
        self._known.pop(peer, None)
        self.tell(turn, peer)

    def _flush(self, turn: Turn) -> None:
        self._has_timer = False
        for peer in self._neighbours():
            self.tell(turn, peer)

    def _told(self, turn: Turn, peer: str, message: TreeTold) -> None:
        if message.epoch != self._in_force.epoch:
            self._other_epoch(turn, peer, message.epoch)
            return
        self.note(peer, message.rows)
        versions = self._in_force.versions
        newer = tuple(row for row in message.rows if row.version > versions.get(row.broker, 0))
        if newer:
            self._heard(turn, newer)
