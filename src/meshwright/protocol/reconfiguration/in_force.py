"""The overlay in force at a broker, as it is on disk and told to others."""

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
    """Overlay and epoch in force, the clients that moved with them, and the overlay before.

    versions: of the brokers of a tree whose links have changed since, and how often.
    """

    def __init__(self, overlay: Overlay, epoch: int = 0) -> None:
        self.epoch = epoch
        self.overlay = overlay
        self.before: Overlay | None = None
        self.moves: tuple[ClientMove, ...] = ()
        self.versions: dict[str, int] = {}

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """Begin with what was in force."""
        if IN_FORCE in disk:
            self.epoch, self.overlay, self.before, self.moves = disk[IN_FORCE]
            self.versions = dict(disk.get(VERSIONS, {}))

    def adopt(self, turn: Turn, message: Switch) -> None:
        """Another overlay is in force from now on."""
        self.before, self.overlay = self.overlay, message.overlay
        self.epoch, self.moves = message.epoch, message.moves
        if self.versions != message.versions:
            self.versions = dict(message.versions)
            turn.write(VERSIONS, self.versions)
        self._write(turn)

    def redraw(self, turn: Turn, rows: Iterable[TreeRow]) -> tuple[TreeRow, ...]:
        """Some links of the tree are others from now on; returns the rows that are new here."""
        newer = [row for row in rows if row.version > self.versions.get(row.broker, 0)]
        if newer:
            self.overlay = with_rows(self.overlay, newer)
            # What was written is on its way to the disk, and stays as it was.
            self.versions = {**self.versions, **{row.broker: row.version for row in newer}}
            turn.write(VERSIONS, self.versions)
            self._write(turn)
        return tuple(newer)

    def rows(self) -> list[TreeRow]:
        """The rows that have changed since this overlay is in force."""
        return [
            TreeRow(name, version, peers_of(self.overlay, name))
            for name, version in self.versions.items()
        ]

    def told(self) -> Switch:
        """What is in force, for somebody who may not know it."""
        return Switch(self.epoch, self.overlay, self.moves, self.versions)

    def _write(self, turn: Turn) -> None:
        turn.write(IN_FORCE, (self.epoch, self.overlay, self.before, self.moves))


def plan_name(target: Overlay, moves: tuple[ClientMove, ...] = ()) -> str:
    """A short name for the plan that leads to an overlay and moves clients."""
    said = msgspec.json.encode((target, moves) if moves else target)
    return hashlib.sha1(said).hexdigest()[:12]
