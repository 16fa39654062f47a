"""What StarMaster and StarPart share: settings, and what they need of the rest of the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from meshwright.protocol.adaptation.star_messages import StarRecord
from meshwright.protocol.adaptation.tree_news import TreeNews
from meshwright.protocol.forwarding.acyclic.acyclic import Acyclic
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.reconfiguration.tree_rows import TreeRow


class StarSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long the change of a star may take.

    patience_us: for how long the master waits for answers before the decision, and again after it.
    lease_us: how long a locked broker keeps new filters waiting.
    ask_every_us: how often a broker asks what became of a change for which it is ready.
    gather_us: how long changed rows are gathered before they are told.
    """

    patience_us: int = 2_000_000
    lease_us: int = 3_000_000
    ask_every_us: int = 3_000_000
    gather_us: int = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StarAround:
    """What the change of a star needs of the rest of the broker.

    tree: the forwarding machine in force; None if the overlay in force is no tree.
    adopt: puts the rows of a decided change in force, given the names of its brokers.
    renew: gives the overlay in force a new epoch, in which no earlier change counts.
    relink: recomputes with which brokers to stay connected.
    """

    me: str
    settings: StarSettings
    in_force: InForce
    news: TreeNews
    send: Callable[[Turn, str, Any], None]
    tree: Callable[[], Acyclic | None]
    alive: Callable[[], tuple[str, ...]]
    adopt: Callable[[Turn, Iterable[TreeRow], Iterable[str]], None]
    renew: Action
    relink: Action

    def version(self, broker: str) -> int:
        """How often a broker's links have changed in this epoch."""
        return self.in_force.versions.get(broker, 0)

    def let_go(self, turn: Turn) -> None:
        """Let filters spread again, and drop the star's links that are not in use."""
        tree = self.tree()
        if tree is not None:
            tree.let_go(turn)
        self.relink(turn)


def report(turn: Turn, change: str, step: str, brokers: Iterable[str], detail: str = "") -> None:
    """Report how far the change of a star is at this broker."""
    turn.report(StarRecord(change=change, step=step, brokers=tuple(brokers), detail=detail))
