"""How a broker that belongs to the network, but not to its overlay, comes into it.

It carries on alone in an overlay of its own, whose epoch is below all others; streams deliver what
no overlay brings. It asks others for the one in force, and leads a plan by which that grows by this
broker. If the plan comes to nothing, or another overtakes it in which this broker is not, it asks
again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.reconfiguration.messages import Fetch, Switch

ENTER = ("reconfigure enter",)
ENTER_EVERY_US = 1_000_000
# The epoch of an overlay that has only this broker.
OUTSIDE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class EnteringAround:
    """What coming in asks of the rest of the broker.

    others: brokers that are seen alive. ask_dead: finds out whether those live that are not.
    may_enter: whether everybody knows of this one, and no plan is under way here. enter: leads the
    plan by which an overlay grows by this broker.
    """

    send: Callable[[Turn, str, Any], None]
    others: Callable[[], tuple[str, ...]]
    ask_dead: Action
    may_enter: Callable[[], bool]
    enter: Callable[[Turn, Switch], None]


class Entering:
    """Asks for the overlay in force as long as this broker is in none with others."""

    def __init__(self, me: str, in_force: InForce, around: EnteringAround) -> None:
        self._me = me
        self._in_force = in_force
        self._around = around
        self._asked_count = 0
        # The newest epoch that was heard of without this broker.
        self._missed = OUTSIDE

    @property
    def is_outside(self) -> bool:
        """Whether the overlay in force is one without this broker."""
        return self._in_force.epoch < max(self._missed, 0)

    def started(self, turn: Turn) -> None:
        """Begin to ask, if there is need."""
        if self.is_outside:
            self.look(turn)

    def look(self, turn: Turn) -> None:
        """Ask the next of the others for the overlay in force."""
        if not self.is_outside:
            return
        self._around.ask_dead(turn)
        others = self._around.others()
        if others and self._around.may_enter():
            asked = others[self._asked_count % len(others)]
            self._asked_count += 1
            self._around.send(turn, asked, Fetch(self._in_force.epoch))
        turn.timer(ENTER, turn.now_us + ENTER_EVERY_US)

    def takes(self, turn: Turn, message: Switch) -> bool:
        """True if an overlay is one without this broker, which then has it grow."""
        if self._me in message.overlay.brokers:
            return False
        was_outside = self.is_outside
        self._missed = max(self._missed, message.epoch)
        if self.is_outside:
            if not was_outside:
                turn.timer(ENTER, turn.now_us + ENTER_EVERY_US)
            if message.epoch >= self._missed and self._around.may_enter():
                self._around.enter(turn, message)
        return True
