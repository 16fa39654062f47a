"""A broker's part in the change of a star that another broker, the master, leads.

A broker is locked for one change at a time. Until it has sent StarReady it may leave, and does when
it hears nothing of the master for a while. From StarReady on only the master knows whether the
change was decided. So the broker keeps the change on disk, and asks when it loses the master. If
the master never returns, a new epoch is begun, in which no earlier change counts.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from meshwright.protocol.adaptation.star_around import StarAround, report
from meshwright.protocol.adaptation.star_messages import (
    StarAbort,
    StarDenied,
    StarDrained,
    StarFinish,
    StarGranted,
    StarLock,
    StarQuestion,
    StarReady,
    StarSwitch,
    StarTables,
)
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.tree_rows import TreeRow, with_rows

LEASE = ("star lease",)
DOUBT: DiskKey = ("star",)
# How often a broker asks about a change whose master is dead, before it begins a new epoch.
QUESTIONS_MAX = 2


class Stage(Enum):
    """How far a change is at a broker that takes part in it."""

    LOCKED = "it may leave whenever it likes"
    READY = "only the master knows what becomes of it, so that it is on disk"
    SWITCHED = "the new links are in use, and what went by the old ones arrives"


STAGES = Transitions(
    {Stage.LOCKED: (Stage.READY,), Stage.READY: (Stage.SWITCHED,), Stage.SWITCHED: ()}
)


class Doubt(msgspec.Struct, frozen=True, array_like=True):
    """A change for which this broker is ready and whose end it does not know; kept on disk."""

    change: str
    master: str
    rows: tuple[TreeRow, ...]


class Bond:
    """The one change in which a broker takes part.

    asked_count: how often the broker asked what became of it.
    """

    __slots__ = ("asked_count", "brokers", "change", "master", "rows", "stage")

    def __init__(self, change: str, master: str, brokers: tuple[str, ...]) -> None:
        self.change = change
        self.master = master
        self.brokers = brokers
        self.rows: tuple[TreeRow, ...] = ()
        self.stage = Stage.LOCKED
        self.asked_count = 0

    def go_on(self, stage: Stage) -> None:
        """Begin the next stage."""
        self.stage = STAGES.checked(self.stage, stage)


class StarPart:
    """One broker's part in changes that others lead; bond: the change that it is locked for."""

    def __init__(self, around: StarAround) -> None:
        self._around = around
        self.bond: Bond | None = None

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(StarTables, self._tables_heard),
            on(StarSwitch, self._switch_heard),
            on(StarFinish, self._finish_heard),
            on(StarAbort, self._abort_heard),
        )

    def timers(self) -> dict[str, Action]:
        """Map each timer to its method."""
        return {LEASE[0]: self._lease_over}

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start, be locked again for a change whose end is not known."""
        doubt = disk.get(DOUBT)
        if doubt is not None:
            bond = Bond(doubt.change, doubt.master, tuple(row.broker for row in doubt.rows))
            bond.rows = doubt.rows
            bond.go_on(Stage.READY)
            self.bond = bond

    def started(self, turn: Turn) -> None:
        """After a start, ask what became of that change."""
        if self.bond is not None:
            self._ask(turn, self.bond)

    def lock(self, turn: Turn, master: str, message: StarLock) -> None:
        """Be locked for a change, or refuse if locked for another one."""
        bond = self.bond
        if bond is not None and bond.master == master and bond.change != message.change:
            # A master leads one change at a time, so the change of this lock has ended.
            self._release(turn, "released", f"{master} leads another change")
            bond = None
        if bond is not None:
            self.deny(turn, master, message, f"locked for {bond.change}")
            return
        tree = self._around.tree()
        assert tree is not None
        self.bond = Bond(message.change, master, tuple(message.versions))
        tree.pause(besides=master)
        report(turn, message.change, "granted", self.bond.brokers)
        turn.timer(LEASE, turn.now_us + self._around.settings.lease_us)
        self._around.send(turn, master, StarGranted(message.change))

    def deny(self, turn: Turn, master: str, message: StarLock, why: str) -> None:
        """Refuse to take part in a change."""
        report(turn, message.change, "denied", message.versions, why)
        self._around.send(turn, master, StarDenied(message.change, why))

    def disturbed(self, turn: Turn, why: str) -> None:
        """Something else changes links here: let filters spread again.

        The lock ends too, unless the broker is ready, when only the master can end it.
        """
        bond = self.bond
        if bond is None:
            return
        if bond.stage is Stage.LOCKED:
            self._around.send(turn, bond.master, StarDenied(bond.change, why))
        if bond.stage is Stage.READY:
            self._around.let_go(turn)
        else:
            self._release(turn, "released", why)

    def adopted(self, turn: Turn) -> None:
        """This broker's links have changed: the change is decided if they are as it wanted."""
        bond = self.bond
        if bond is not None and bond.stage is Stage.READY and self._is_adopted(bond):
            bond.go_on(Stage.SWITCHED)
            turn.write(DOUBT, None)
            report(turn, bond.change, "switched", bond.brokers)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """The master may have restarted and forgotten the change: ask it, or leave."""
        bond = self.bond
        if bond is None or bond.master != peer:
            return
        if bond.stage is Stage.READY:
            self._ask(turn, bond)
        else:
            self._release(turn, "released", f"{peer} may have forgotten it")

    def overruled(self, turn: Turn) -> None:
        """Another overlay is in force: the change is void, so the lock ends."""
        if self.bond is not None:
            self._release(turn, "released", "another overlay is in force")

    def _tables_heard(self, turn: Turn, peer: str, message: StarTables) -> None:
        bond, around = self._bond(message.change), self._around
        if bond is None or bond.stage is not Stage.LOCKED:
            around.send(turn, peer, StarDenied(message.change, "not locked for it any more"))
            return
        tree = around.tree()
        assert tree is not None
        versions = {row.broker: row.version for row in message.rows}
        overlay = with_rows(around.in_force.overlay, message.rows)
        if not tree.prepare(overlay, versions, message.links):
            self.disturbed(turn, "not all brokers of the star are seen alive")
            return
        tree.pause()
        around.relink(turn)
        bond.rows = message.rows
        bond.go_on(Stage.READY)
        turn.write(DOUBT, Doubt(bond.change, bond.master, bond.rows))

        def written(later: Turn) -> None:
            if self.bond is bond and bond.stage is Stage.READY:
                around.send(later, peer, StarReady(bond.change))

        turn.once_synced(written)

    def _switch_heard(self, turn: Turn, peer: str, message: StarSwitch) -> None:
        around, bond = self._around, self._bond(message.change)
        if bond is not None and bond.stage is Stage.READY:
            around.adopt(turn, bond.rows, bond.brokers)
        if around.version(around.me) >= message.version:
            answer = StarDrained(message.change)
            turn.once_synced(lambda later: around.send(later, peer, answer))

    def _finish_heard(self, turn: Turn, peer: str, message: StarFinish) -> None:
        del peer
        bond = self._bond(message.change)
        if bond is not None and bond.stage is Stage.SWITCHED:
            self._release(turn, "drained")

    def _abort_heard(self, turn: Turn, peer: str, message: StarAbort) -> None:
        bond = self._bond(message.change)
        if bond is not None and bond.stage is not Stage.SWITCHED and bond.master == peer:
            self._release(turn, "aborted")

    def _lease_over(self, turn: Turn) -> None:
        """No word came from the master for long: leave, or if this broker is ready, ask.

        If the master stays dead, the overlay gets a new epoch after a number of questions.
        """
        bond = self.bond
        if bond is None:
            return
        if bond.stage is not Stage.READY:
            self.disturbed(turn, "its master says nothing")
            return
        self._around.let_go(turn)
        alive = [name for name in bond.brokers if name in self._around.alive()]
        # Each broker waits a turn longer than the one before, so that one begins the epoch.
        turns = QUESTIONS_MAX + alive.index(self._around.me)
        if bond.master not in alive and bond.asked_count >= turns:
            self._around.renew(turn)
        self._ask(turn, bond)

    def _ask(self, turn: Turn, bond: Bond) -> None:
        bond.asked_count += 1
        around = self._around
        version = next(row.version for row in bond.rows if row.broker == around.me)
        for name in bond.brokers:
            if name != around.me:
                around.send(turn, name, StarQuestion(bond.change, version))
        turn.timer(LEASE, turn.now_us + around.settings.ask_every_us)

    def _is_adopted(self, bond: Bond) -> bool:
        me = self._around.me
        return any(
            row.broker == me and self._around.version(me) >= row.version for row in bond.rows
        )

    def _bond(self, change: str) -> Bond | None:
        return self.bond if self.bond is not None and self.bond.change == change else None

    def _release(self, turn: Turn, step: str, detail: str = "") -> None:
        """End the lock."""
        bond, self.bond = self.bond, None
        assert bond is not None
        if bond.stage is Stage.READY:
            turn.write(DOUBT, None)
        report(turn, bond.change, step, bond.brokers, detail)
        self._around.let_go(turn)
