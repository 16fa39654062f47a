"""Changes a tree star by star, with locks on the brokers of one star only [OCBR, 5.3].

A broker that finds a cheaper star locks the brokers whose links would change, and no others, so
that stars without a common broker are redrawn at the same time. A decided change consists of rows
of the tree (reconfiguration/tree_rows.py), which all brokers are told (tree_news.py). A change of
the whole overlay has precedence: it ends star changes that are not decided, and in its epoch no row
of the old one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from meshwright.protocol.adaptation.star_around import StarAround, StarSettings
from meshwright.protocol.adaptation.star_master import Ended, StarMaster
from meshwright.protocol.adaptation.star_messages import StarLock
from meshwright.protocol.adaptation.star_part import StarPart
from meshwright.protocol.adaptation.tree_news import TreeNews
from meshwright.protocol.forwarding.acyclic.acyclic import Acyclic
from meshwright.protocol.forwarding.forwarding import Forwarding
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.reconfiguration.messages import BuiltLate
from meshwright.protocol.reconfiguration.tree_rows import Link, TreeRow, peers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StarsAround:
    """What changes of stars need of the rest of the broker.

    tell: sends a message that changes what a peer knows on the overlay, and notes it for marks.
    machine: the forwarding machine in force.
    is_free: True if no change of the whole overlay is under way here.
    other_epoch: called when a peer has another epoch in force.
    renew: gives the overlay in force a new epoch.
    relink: recomputes with which brokers to stay connected.
    redrawn: called when this broker's own links have changed.
    """

    send: Callable[[Turn, str, Any], None]
    tell: Callable[[Turn, str, Any], None]
    machine: Callable[[], Forwarding]
    alive: Callable[[], tuple[str, ...]]
    is_free: Callable[[], bool]
    other_epoch: Callable[[Turn, str, int], None]
    renew: Action
    relink: Action
    redrawn: Callable[[], None]


class Stars:
    """One broker's part in all changes of stars, as master and as locked broker."""

    def __init__(
        self,
        me: str,
        incarnation: int,
        settings: StarSettings,
        in_force: InForce,
        around: StarsAround,
    ) -> None:
        self._me = me
        self._in_force = in_force
        self._around = around
        self._news = TreeNews(
            settings.gather_us,
            in_force,
            send=around.send,
            neighbours=lambda: around.machine().neighbours(),
            heard=self._news_heard,
            other_epoch=around.other_epoch,
        )
        star_around = StarAround(
            me=me,
            settings=settings,
            in_force=in_force,
            news=self._news,
            send=around.send,
            tree=self._tree,
            alive=around.alive,
            adopt=self._adopt,
            renew=around.renew,
            relink=around.relink,
        )
        self._part = StarPart(star_around)
        self._master = StarMaster(incarnation, star_around)

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            *self._part.handlers(),
            *self._master.handlers(),
            *self._news.handlers(),
            on(StarLock, self._lock_asked),
        )

    def timers(self) -> dict[str, Action]:
        """Map each timer to its method."""
        return {**self._part.timers(), **self._master.timers(), **self._news.timers()}

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start, read from disk the change for which this broker is ready, if any."""
        self._part.restore(disk)

    def started(self, turn: Turn) -> None:
        """Ask how that change ended, and tell rows that a crash may have kept from neighbours."""
        self._part.started(turn)
        self._news.spread(turn)

    @property
    def bound_to(self) -> str | None:
        """The name of the change that this broker leads or is locked for, if any."""
        bound = self._master.led or self._part.bond
        return None if bound is None else bound.change

    @property
    def is_bound(self) -> bool:
        """True if this broker leads the change of a star or is locked for one."""
        return self.bound_to is not None

    def begin(
        self, turn: Turn, removed: Iterable[Link], added: Iterable[Link], ended: Ended
    ) -> str:
        """Begin to redraw this broker's star; it must not be bound. Returns the change's name."""
        assert not self.is_bound
        return self._master.begin(turn, removed, added, ended)

    def disturbed(self, turn: Turn, why: str) -> bool:
        """Something else changes the overlay: end a change here; returns whether there was one."""
        was_bound = self.is_bound
        self._master.disturbed(turn, why)
        self._part.disturbed(turn, why)
        return was_bound

    def alive_changed(self, turn: Turn) -> None:
        """Brokers died or returned: end a change here, and tell rows to new neighbours."""
        self.disturbed(turn, "others are seen alive than before")
        self._news.spread(turn)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A conversation began anew: the peer may have forgotten rows and a change."""
        self._news.peer_renewed(turn, peer)
        self._master.peer_renewed(turn, peer)
        self._part.peer_renewed(turn, peer)

    def epoch_changed(self, turn: Turn) -> None:
        """Another overlay is in force: end all changes of the old one."""
        self._news.begin()
        self._master.overruled(turn)
        self._part.overruled(turn)
        self._news.spread(turn)

    def _lock_asked(self, turn: Turn, peer: str, message: StarLock) -> None:
        if message.epoch != self._in_force.epoch:
            self._around.other_epoch(turn, peer, message.epoch)
            why = f"epoch {self._in_force.epoch} is in force"
        elif not self._around.is_free():
            why = "the whole overlay is being changed"
        elif self._tree() is None:
            why = "the overlay in force is no tree"
        elif message.versions[self._me] != self._in_force.versions.get(self._me, 0):
            self._news.tell(turn, peer)
            why = "its links have changed meanwhile"
        elif not self._master.gives_way_to(turn, peer):
            why = "leads a change itself"
        else:
            self._part.lock(turn, peer, message)
            return
        self._part.deny(turn, peer, message, why)

    def _tree(self) -> Acyclic | None:
        machine = self._around.machine()
        return machine if isinstance(machine, Acyclic) else None

    def _news_heard(self, turn: Turn, rows: tuple[TreeRow, ...]) -> None:
        is_mine = any(row.broker == self._me for row in rows)
        bond = self._part.bond
        star = bond.brokers if is_mine and bond is not None else ()
        self._adopt(turn, rows, star)
        if is_mine:
            # A row in the news means that the change was decided; the master may be gone.
            self._part.disturbed(turn, "the change was decided")

    def _adopt(self, turn: Turn, rows: Iterable[TreeRow], star: Iterable[str]) -> None:
        """Put the rows of a decided change in force; star: its brokers, if this is one of them."""
        rows, star = tuple(rows), tuple(star)
        before = peers_of(self._in_force.overlay, self._me)
        self._in_force.redraw(turn, rows)
        for name in star:
            self._news.note(name, rows)
        mine = next((row for row in rows if row.broker == self._me), None)
        tree = self._tree()
        if tree is not None and (mine is None or tree.version >= mine.version):
            tree.redraw(turn, self._in_force.overlay)
        elif tree is not None and mine is not None:
            if tree.is_prepared:
                tree.switch(self._in_force.overlay)
            else:
                self._redraw_late(turn, tree, mine, star or (*before, *mine.peers))
            self._part.adopted(turn)
            self._around.redrawn()
        self._around.relink(turn)
        self._news.spread(turn)

    def _redraw_late(self, turn: Turn, tree: Acyclic, mine: TreeRow, star: Iterable[str]) -> None:
        """Use new links that are not prepared here, or not any more.

        Exchange all filters anew with the brokers of the star.
        """
        renewed = sorted(set(star) - {self._me})
        for peer in renewed:
            self._around.tell(turn, peer, BuiltLate(self._in_force.epoch))
        tree.redraw(turn, self._in_force.overlay, renewed, mine.version)
