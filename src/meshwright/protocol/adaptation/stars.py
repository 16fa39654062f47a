"""Changes of a tree star by star, each with locks on its own brokers only [OCBR, 5.3].

Whoever finds a better star locks those brokers whose links would change, and no others; so stars
that share no broker are redrawn at the same time. All that is decided is in rows of the tree
(reconfiguration/tree_rows.py), which become known to everybody. A change of the whole overlay goes
before: it ends what is not decided, and its epoch makes void what nobody else has heard of.
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
from meshwright.protocol.forwarding.acyclic import Acyclic
from meshwright.protocol.forwarding.forwarding import Forwarding
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.reconfiguration.messages import BuiltLate
from meshwright.protocol.reconfiguration.tree_rows import Link, TreeRow, peers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StarsAround:
    """What changes of stars ask of the rest of the broker.

    machine: what forwards in force. tell: a message that matters to what is known of links.
    is_free: whether no change of the whole overlay is under way here. other_epoch: a peer has
    another overlay. renew: give the overlay in force another epoch. redrawn: this broker has other
    links.
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
    """One broker's part in all changes of stars, its own and those of others."""

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
        """Which message is for which method."""
        return (
            *self._part.handlers(),
            *self._master.handlers(),
            *self._news.handlers(),
            on(StarLock, self._lock_asked),
        )

    def timers(self) -> dict[str, Action]:
        """Which timer is for which method."""
        return {**self._part.timers(), **self._master.timers(), **self._news.timers()}

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start: whatever was not at its end before."""
        self._part.restore(disk)

    def started(self, turn: Turn) -> None:
        """All machines stand; a crash may have come before others were told what is known here."""
        self._part.started(turn)
        self._news.spread(turn)

    @property
    def bound_to(self) -> str | None:
        """The change of a star that this broker leads or is locked for, if any."""
        bound = self._master.led or self._part.bond
        return None if bound is None else bound.change

    @property
    def is_bound(self) -> bool:
        """Whether this broker leads the change of a star or is locked for one."""
        return self.bound_to is not None

    def begin(
        self, turn: Turn, removed: Iterable[Link], added: Iterable[Link], ended: Ended
    ) -> str:
        """Redraw the star of this broker, which must be free; returns the name of the change."""
        assert not self.is_bound
        return self._master.begin(turn, removed, added, ended)

    def disturbed(self, turn: Turn, why: str) -> bool:
        """Something else changes the overlay; says whether a star was being redrawn here."""
        was_bound = self.is_bound
        self._master.disturbed(turn, why)
        self._part.disturbed(turn, why)
        return was_bound

    def alive_changed(self, turn: Turn) -> None:
        """Others are seen alive than before, and with them there may be other neighbours."""
        self.disturbed(turn, "others are seen alive than before")
        self._news.spread(turn)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer may have forgotten what it was told."""
        self._news.peer_renewed(turn, peer)
        self._master.peer_renewed(turn, peer)
        self._part.peer_renewed(turn, peer)

    def epoch_changed(self, turn: Turn) -> None:
        """Another overlay is in force."""
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
            # Whoever tells of it is through with it, and the master may be gone.
            self._part.disturbed(turn, "the change was decided")

    def _adopt(self, turn: Turn, rows: Iterable[TreeRow], star: Iterable[str]) -> None:
        """Use the links of a change that is decided; star: its brokers, if this is one of them."""
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
        """Begin anew with the brokers of a star for which nothing is prepared here any more."""
        renewed = sorted(set(star) - {self._me})
        for peer in renewed:
            self._around.tell(turn, peer, BuiltLate(self._in_force.epoch))
        tree.redraw(turn, self._in_force.overlay, renewed, mine.version)
