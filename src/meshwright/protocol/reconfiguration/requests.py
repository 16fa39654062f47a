"""What an operator or a policy asks of a broker: to apply, abort or undo a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.model.designs import DESIGNS
from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove, Plan
from meshwright.overlays.growth import with_broker
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.roll import SEATS_MAX
from meshwright.protocol.reconfiguration.blocking import can_block
from meshwright.protocol.reconfiguration.coordinator import Coordinator
from meshwright.protocol.reconfiguration.heirs import heirs_of, is_worth_carrying
from meshwright.protocol.reconfiguration.in_force import InForce, plan_name
from meshwright.protocol.reconfiguration.messages import (
    AbortAsked,
    BuildingMode,
    Lock,
    PlanRecord,
    Switch,
)

LAST_USED: DiskKey = ("epoch used",)
ACTIONS = "choose apply, apply-blocking, abort or undo"

Moves = tuple[ClientMove, ...]


class Promise:
    """The one plan that a broker takes part in."""

    __slots__ = ("asked_count", "coordinator", "lock")

    def __init__(self, coordinator: str, lock: Lock) -> None:
        self.coordinator = coordinator
        self.lock = lock
        self.asked_count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsAround:
    """What requests ask of the rest of the broker.

    seat: this broker's number, broker_at: who has one. promise: the plan that the broker takes part
    in. void: the highest epoch that was given up.
    block: begins the paper's change that holds up clients.
    """

    send: Callable[[Turn, str, Any], None]
    seat: Callable[[], int]
    broker_at: Callable[[int], str | None]
    alive: Callable[[], tuple[str, ...]]
    promise: Callable[[], Promise | None]
    void: Callable[[], int]
    block: Callable[[Turn, int, str, Overlay], None]


class Requests:
    """Refuses what cannot be done, and has the coordinator do the rest."""

    def __init__(
        self, me: str, in_force: InForce, coordinator: Coordinator, around: RequestsAround
    ) -> None:
        self._me = me
        self._in_force = in_force
        self._coordinator = coordinator
        self._around = around
        self._last_used = 0

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """Use no epoch twice."""
        self._last_used = disk.get(LAST_USED, 0)

    def given(self, turn: Turn, event: PlanGiven) -> None:
        """An operator or a policy decided about a plan: apply, abort or undo."""
        plan = event.plan
        if event.action in {"apply", "apply-blocking"}:
            why_not = self._why_not_for(plan)
            target = plan.target if isinstance(plan, Plan) else plan
            moves = plan.client_moves() if isinstance(plan, Plan) else ()
            if why_not is not None:
                self._refuse(turn, why_not, plan_name(target, moves))
            elif event.action == "apply-blocking":
                self._apply_blocking(turn, target, moves)
            else:
                self._apply(turn, target, moves)
        elif event.action == "undo":
            self._undo(turn, plan)
        elif event.action == "abort":
            self._abort(turn)
        else:
            self._refuse(turn, f"there is no action {event.action!r}; {ACTIONS}")

    def overrule(self, turn: Turn, promise: Promise) -> None:
        """End a plan whose coordinator is lost, though nobody can know whether it was decided.

        The overlay in force is given a higher epoch, so that the plan has no effect whenever its
        coordinator comes back.
        """
        self._begin(turn, self._in_force.overlay, (), supersedes=promise.lock.epoch)

    def renew(self, turn: Turn) -> None:
        """Give the overlay in force another epoch, in which no change of the old one counts."""
        if self._coordinator.undertaking is None and self._around.promise() is None:
            self._begin(turn, self._in_force.overlay, ())

    def enter(self, turn: Turn, known: Switch) -> None:
        """Have the others' overlay, in which this broker is not, grow by it."""
        if self._coordinator.undertaking is None and self._around.promise() is None:
            self._begin(turn, with_broker(known.overlay, self._me), (), source_epoch=known.epoch)

    def owner(self, epoch: int) -> str | None:
        """Who leads the plan of an epoch; None if that broker is not known here."""
        return self._around.broker_at(epoch % SEATS_MAX)

    def _apply(self, turn: Turn, target: Overlay, moves: Moves) -> None:
        why_not = self._why_not(target, moves)
        if why_not is not None:
            self._refuse(turn, why_not, plan_name(target, moves))
        else:
            self._begin(turn, target, moves)

    def _apply_blocking(self, turn: Turn, target: Overlay, moves: Moves) -> None:
        why_not = self._why_not(target, moves)
        if moves:
            why_not = why_not or "clients that wait are not moved; apply the plan by epochs"
        if not can_block(self._in_force.overlay, target):
            why_not = why_not or "only positions on a ring can be changed while clients wait"
        name = plan_name(target)
        if why_not is not None:
            self._refuse(turn, why_not, name)
        else:
            epoch = self._use_epoch(turn)
            turn.once_synced(lambda later: self._around.block(later, epoch, name, target))

    def _why_not_for(self, plan: Plan | Overlay) -> str | None:
        if isinstance(plan, Plan) and plan.source != self._in_force.overlay:
            return "the plan was made for another overlay than the one in force; plan again"
        return None

    def _why_not(self, target: Overlay, moves: Moves) -> str | None:
        if self._coordinator.undertaking is not None:
            return "another plan is under way here; wait for its end or abort it"
        if target.design not in DESIGNS:
            return f"there is no design {target.design!r}; plan for one that there is"
        if sorted(target.brokers) != sorted(self._in_force.overlay.brokers):
            return "a plan keeps the brokers of the overlay in force; plan again"
        astray = [one for one in moves if one.target not in target.brokers]
        if astray:
            return f"client {astray[0].client} cannot go to {astray[0].target}, which is no broker"
        if target == self._in_force.overlay and not moves:
            return "the overlay is in force already"
        return None

    def _undo(self, turn: Turn, plan: Plan | None) -> None:
        """Back to the overlay before; of a plan, only while its target is in force."""
        in_force = self._in_force
        is_other = isinstance(plan, Plan) and plan.target != in_force.overlay
        before = plan.source if isinstance(plan, Plan) else in_force.before
        if before is None or is_other:
            self._refuse(turn, "the plan is not the last that was applied; nothing to undo")
        else:
            moves = plan.client_moves() if isinstance(plan, Plan) else in_force.moves
            self._apply(turn, before, tuple(move.back() for move in moves))

    def _abort(self, turn: Turn) -> None:
        """End the plan under way, wherever it is led."""
        promise = self._around.promise()
        if self._coordinator.undertaking is not None:
            if not self._coordinator.abort(turn, "asked for here"):
                self._refuse(turn, "the plan is decided; undo it instead")
        elif promise is None or promise.lock.epoch <= self._in_force.epoch:
            self._refuse(turn, "no plan is under way that could be aborted")
        elif promise.coordinator in self._around.alive():
            self._around.send(turn, promise.coordinator, AbortAsked(promise.lock.epoch))
        else:
            self.overrule(turn, promise)

    def _begin(
        self,
        turn: Turn,
        target: Overlay,
        moves: Moves,
        *,
        supersedes: int = -1,
        source_epoch: int | None = None,
    ) -> None:
        """Lead a plan, under an epoch that is on disk, so that it is never given twice."""
        source = self._in_force.epoch if source_epoch is None else source_epoch
        epoch = self._use_epoch(turn, max(supersedes, source))
        name = plan_name(target, moves)

        def written(later: Turn) -> None:
            if self._coordinator.undertaking is None:
                mode = self._mode(target)
                lock = Lock(epoch, name, target, source, supersedes, moves, mode)
                heirs = heirs_of(self._in_force.overlay, target) if mode == "carry" else {}
                self._coordinator.begin(later, lock, heirs)

        turn.once_synced(written)

    def _mode(self, target: Overlay) -> BuildingMode:
        """What is known is carried over only while everybody is there to say what it knows."""
        source = self._in_force.overlay
        are_all_here = set(self._around.alive()).issuperset(source.brokers)
        return "carry" if are_all_here and is_worth_carrying(source, target) else "anew"

    def _use_epoch(self, turn: Turn, above: int = -1) -> int:
        """One that is higher than all known; its remainder is the seat of whose it is."""
        highest = max(self._in_force.epoch, self._last_used, self._around.void(), above)
        self._last_used = (highest // SEATS_MAX + 1) * SEATS_MAX + self._around.seat()
        turn.write(LAST_USED, self._last_used)
        return self._last_used

    def _refuse(self, turn: Turn, why: str, name: str = "") -> None:
        record = PlanRecord(plan=name, epoch=self._in_force.epoch, step="refused", detail=why)
        turn.report(record)
