"""What the two sides of redrawing a star share: settings, and what they ask of the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from meshwright.protocol.adaptation.star_messages import StarRecord
from meshwright.protocol.adaptation.tree_news import TreeNews
from meshwright.protocol.forwarding.acyclic import Acyclic
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.reconfiguration.tree_rows import TreeRow


class StarSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long the change of a star may take.

    patience_us: until its master decides, and then until the others follow. lease_us: how long a
    broker holds up filters for it. ask_every_us: how often one that cannot know what became of it
    asks. gather_us: how long news of changed links are gathered.
    """

    patience_us: int = 2_000_000
    lease_us: int = 3_000_000
    ask_every_us: int = 3_000_000
    gather_us: int = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StarAround:
    """What redrawing a star asks of the rest of the broker.

    tree: the forwarding machine in force, None if that is not of a tree. adopt: the rows of a
    change, with the names of its brokers, are in force. renew: give the overlay in force another
    epoch, so that no older change counts.
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
        """Hold up filters no longer, and forget the shape that is not used."""
        tree = self.tree()
        if tree is not None:
            tree.let_go(turn)
        self.relink(turn)


def report(turn: Turn, change: str, step: str, brokers: Iterable[str], detail: str = "") -> None:
    """Say how far the change of a star is here."""
    turn.report(StarRecord(change=change, step=step, brokers=tuple(brokers), detail=detail))
