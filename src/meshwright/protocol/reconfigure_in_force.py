"""The overlay in force at a broker, as it is on disk and told to others."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.protocol.effects import DiskKey
from meshwright.protocol.reconfigure_messages import Switch
from meshwright.protocol.turn import Turn

IN_FORCE: DiskKey = ("overlay",)


class InForce:
    """Overlay and epoch in force, the clients that moved with them, and the overlay before."""

    def __init__(self, overlay: Overlay) -> None:
        self.epoch = 0
        self.overlay = overlay
        self.before: Overlay | None = None
        self.moves: tuple[ClientMove, ...] = ()

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """Begin with what was in force."""
        if IN_FORCE in disk:
            self.epoch, self.overlay, self.before, self.moves = disk[IN_FORCE]

    def adopt(self, turn: Turn, message: Switch) -> None:
        """Another overlay is in force from now on."""
        self.before, self.overlay = self.overlay, message.overlay
        self.epoch, self.moves = message.epoch, message.moves
        turn.write(IN_FORCE, (self.epoch, self.overlay, self.before, self.moves))

    def told(self) -> Switch:
        """What is in force, for somebody who may not know it."""
        return Switch(self.epoch, self.overlay, self.moves)


def plan_name(target: Overlay, moves: tuple[ClientMove, ...] = ()) -> str:
    """A short name for the plan that leads to an overlay and moves clients."""
    said = msgspec.json.encode((target, moves) if moves else target)
    return hashlib.sha1(said).hexdigest()[:12]
