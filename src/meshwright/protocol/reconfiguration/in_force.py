"""The overlay in force at one broker: kept on disk, and told to brokers that have an older one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.reconfiguration.messages import Switch
from meshwright.protocol.reconfiguration.tree_rows import TreeRow, peers_of, with_rows

IN_FORCE: DiskKey = ("overlay",)
VERSIONS: DiskKey = ("tree versions",)


class InForce:
    """The overlay in force with its epoch, the clients that moved with it, and the overlay before.

    versions: for each broker of a tree whose links have changed in this epoch, how often they did.
    """

    def __init__(self, overlay: Overlay, epoch: int = 0) -> None:
        self.epoch = epoch
        self.overlay = overlay
        self.before: Overlay | None = None
        self.moves: tuple[ClientMove, ...] = ()
        self.versions: dict[str, int] = {}

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start, read the overlay in force from disk."""
        if IN_FORCE in disk:
            self.epoch, self.overlay, self.before, self.moves = disk[IN_FORCE]
            self.versions = dict(disk.get(VERSIONS, {}))

    def adopt(self, turn: Turn, message: Switch) -> None:
        """Put another overlay in force, and write it to disk."""
        self.before, self.overlay = self.overlay, message.overlay
        self.epoch, self.moves = message.epoch, message.moves
        if self.versions != message.versions:
            self.versions = dict(message.versions)
            turn.write(VERSIONS, self.versions)
        self._write(turn)

    def redraw(self, turn: Turn, rows: Iterable[TreeRow]) -> tuple[TreeRow, ...]:
        """Change some rows of the tree in force; returns the rows that were new here."""
        newer = [row for row in rows if row.version > self.versions.get(row.broker, 0)]
        if newer:
            self.overlay = with_rows(self.overlay, newer)
            # A new dict, as the old one may be on its way to the disk.
            self.versions = {**self.versions, **{row.broker: row.version for row in newer}}
            turn.write(VERSIONS, self.versions)
            self._write(turn)
        return tuple(newer)

    def rows(self) -> list[TreeRow]:
        """The rows of the tree that have changed since this overlay is in force."""
        return [
            TreeRow(name, version, peers_of(self.overlay, name))
            for name, version in self.versions.items()
        ]

    def told(self) -> Switch:
        """The Switch message for a broker that may not know the overlay in force."""
        return Switch(self.epoch, self.overlay, self.moves, self.versions)

    def _write(self, turn: Turn) -> None:
        turn.write(IN_FORCE, (self.epoch, self.overlay, self.before, self.moves))


def plan_name(target: Overlay, moves: tuple[ClientMove, ...] = ()) -> str:
    """A short name for a plan, made from its target overlay and its client moves."""
    said = msgspec.json.encode((target, moves) if moves else target)
    return hashlib.sha1(said).hexdigest()[:12]
