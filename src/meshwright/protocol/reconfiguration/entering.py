"""Brings a broker that belongs to the network, but not to its overlay, into the overlay.

Until then the broker is alone in an overlay of its own, whose epoch is below all others; streams
deliver by repair what no overlay carries. It asks another broker for the overlay in force (Fetch),
and leads a plan that adds itself to it. If that plan fails, or another plan without this broker is
decided first, it asks again.
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
    """What entering needs of the rest of the broker.

    others: the other brokers that are believed alive.
    ask_dead: asks brokers that do not seem alive whether they are.
    may_enter: True if all brokers know of this one, and no plan is under way here.
    enter: leads the plan that adds this broker to an overlay.
    """

    send: Callable[[Turn, str, Any], None]
    others: Callable[[], tuple[str, ...]]
    ask_dead: Action
    may_enter: Callable[[], bool]
    enter: Callable[[Turn, Switch], None]


class Entering:
    """Asks for the overlay in force while this broker is not in it."""

    def __init__(self, me: str, in_force: InForce, around: EnteringAround) -> None:
        self._me = me
        self._in_force = in_force
        self._around = around
        self._asked_count = 0
        # The newest epoch heard of whose overlay does not have this broker.
        self._missed = OUTSIDE

    @property
    def is_outside(self) -> bool:
        """True while a newer overlay than this broker's is known, and this broker is not in it."""
        return self._in_force.epoch < max(self._missed, 0)

    def started(self, turn: Turn) -> None:
        """After a start, begin to ask if this broker is outside."""
        if self.is_outside:
            self.look(turn)

    def look(self, turn: Turn) -> None:
        """Ask the next of the other brokers for the overlay in force; again after a while."""
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
        """Take a Switch with an overlay that does not have this broker; returns False for others.

        If this broker may enter, it leads a plan that adds it.
        """
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
