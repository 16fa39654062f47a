"""Takes requests of an operator or a policy: to apply, abort or undo a plan.

A request that cannot be met is refused with a reason. Otherwise this broker takes a new epoch and
becomes the plan's coordinator.
"""

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
    PlanAnswer,
    PlanRecord,
    Switch,
)

LAST_USED: DiskKey = ("epoch used",)
ACTIONS = "choose apply, apply-blocking, abort or undo"
ANOTHER_PLAN = "another plan is under way here; wait for its end or abort it"

Moves = tuple[ClientMove, ...]


class Promise:
    """The plan in which a broker takes part; a broker has one promise at most.

    asked_count: how often the broker asked what became of the plan.
    """

    __slots__ = ("asked_count", "coordinator", "lock")

    def __init__(self, coordinator: str, lock: Lock) -> None:
        self.coordinator = coordinator
        self.lock = lock
        self.asked_count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsAround:
    """What requests need of the rest of the broker.

    seat: this broker's seat.
    broker_at: the broker that has a seat.
    promise: the plan in which this broker takes part.
    void: the highest epoch of a plan that was given up.
    block: begins the DYNATOPS paper's change of overlay, which holds up clients.
    """

    send: Callable[[Turn, str, Any], None]
    seat: Callable[[], int]
    broker_at: Callable[[int], str | None]
    alive: Callable[[], tuple[str, ...]]
    promise: Callable[[], Promise | None]
    void: Callable[[], int]
    block: Callable[[Turn, int, str, Overlay], None]


class Requests:
    """Refuses requests that cannot be met, and gives the others to the coordinator."""

    def __init__(
        self, me: str, in_force: InForce, coordinator: Coordinator, around: RequestsAround
    ) -> None:
        self._me = me
        self._in_force = in_force
        self._coordinator = coordinator
        self._around = around
        self._last_used = 0

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start, remember the last epoch used, so that none is used twice."""
        self._last_used = disk.get(LAST_USED, 0)

    def given(self, turn: Turn, event: PlanGiven) -> None:
        """Carry out what an operator or a policy asked: apply, apply-blocking, abort or undo."""
        plan, order = event.plan, event.order
        if event.action in {"apply", "apply-blocking"}:
            why_not = self._why_not_for(plan)
            target = plan.target if isinstance(plan, Plan) else plan
            moves = plan.client_moves() if isinstance(plan, Plan) else ()
            if why_not is not None:
                self._refuse(turn, order, why_not, plan_name(target, moves))
            elif event.action == "apply-blocking":
                self._apply_blocking(turn, order, target, moves)
            else:
                self._apply(turn, order, target, moves)
        elif event.action == "undo":
            self._undo(turn, order, plan)
        elif event.action == "abort":
            self._abort(turn, order)
        else:
            self._refuse(turn, order, f"there is no action {event.action!r}; {ACTIONS}")

    def overrule(self, turn: Turn, promise: Promise) -> None:
        """End a plan whose coordinator is dead, though it may have decided the plan.

        The overlay in force gets a higher epoch. Should the coordinator come back with a decided
        plan, that epoch is lower and has no effect.
        """
        self._begin(turn, self._in_force.overlay, (), supersedes=promise.lock.epoch)

    def renew(self, turn: Turn) -> None:
        """Give the overlay in force a new epoch, so that earlier changes of its links are void."""
        if self._coordinator.undertaking is None and self._around.promise() is None:
            self._begin(turn, self._in_force.overlay, ())

    def enter(self, turn: Turn, known: Switch) -> None:
        """Lead a plan that adds this broker to the overlay that the other brokers have in force."""
        if self._coordinator.undertaking is None and self._around.promise() is None:
            self._begin(turn, with_broker(known.overlay, self._me), (), source_epoch=known.epoch)

    def owner(self, epoch: int) -> str | None:
        """The coordinator of an epoch's plan; None if its seat is not known here."""
        return self._around.broker_at(epoch % SEATS_MAX)

    def _apply(self, turn: Turn, order: int, target: Overlay, moves: Moves) -> None:
        why_not = self._why_not(target, moves)
        if why_not is not None:
            self._refuse(turn, order, why_not, plan_name(target, moves))
        else:
            self._begin(turn, target, moves, order=order)

    def _apply_blocking(self, turn: Turn, order: int, target: Overlay, moves: Moves) -> None:
        why_not = self._why_not(target, moves)
        if moves:
            why_not = why_not or "clients that wait are not moved; apply the plan by epochs"
        if not can_block(self._in_force.overlay, target):
            why_not = why_not or "only positions on a ring can be changed while clients wait"
        name = plan_name(target)
        if why_not is not None:
            self._refuse(turn, order, why_not, name)
            return
        epoch = self._use_epoch(turn)

        def written(later: Turn) -> None:
            self._answer(later, order, name, epoch)
            self._around.block(later, epoch, name, target)

        turn.once_synced(written)

    def _why_not_for(self, plan: Plan | Overlay) -> str | None:
        if isinstance(plan, Plan) and plan.source != self._in_force.overlay:
            return "the plan was made for another overlay than the one in force; plan again"
        return None

    def _why_not(self, target: Overlay, moves: Moves) -> str | None:
        if self._coordinator.undertaking is not None:
            return ANOTHER_PLAN
        if target.design not in DESIGNS:
            return f"there is no design {target.design!r}; plan for one that there is"
        why_not = self._why_not_these(target.brokers)
        if why_not is not None:
            return why_not
        astray = [one for one in moves if one.target not in target.brokers]
        if astray:
            return f"client {astray[0].client} cannot go to {astray[0].target}, which is no broker"
        if target == self._in_force.overlay and not moves:
            return "the overlay is in force already"
        return None

    def _why_not_these(self, brokers: tuple[str, ...]) -> str | None:
        """A plan has every broker that is alive, and none that never had a place here.

        One that is dead may be left out: when it returns, it enters the overlay as a newcomer does.
        """
        alive = (self._me, *self._around.alive())
        left_out = [name for name in alive if name not in brokers]
        if left_out:
            return f"{left_out[0]} is alive and has no place in the plan; drain it, or plan again"
        overlays = (self._in_force.overlay, self._in_force.before)
        known = {name for one in overlays if one is not None for name in one.brokers}
        strangers = [name for name in brokers if name not in known and name not in alive]
        if strangers:
            return f"{strangers[0]} is not in this network; have it join, and plan again"
        return None

    def _undo(self, turn: Turn, order: int, plan: Plan | None) -> None:
        """Return to the overlay before; a plan is undone only while its target is in force."""
        in_force = self._in_force
        is_other = isinstance(plan, Plan) and plan.target != in_force.overlay
        before = plan.source if isinstance(plan, Plan) else in_force.before
        if before is None or is_other:
            self._refuse(turn, order, "the plan is not the last that was applied; nothing to undo")
        else:
            moves = plan.client_moves() if isinstance(plan, Plan) else in_force.moves
            self._apply(turn, order, before, tuple(move.back() for move in moves))

    def _abort(self, turn: Turn, order: int) -> None:
        """End the plan under way, at whichever broker its coordinator is."""
        promise, undertaking = self._around.promise(), self._coordinator.undertaking
        if undertaking is not None:
            name = undertaking.lock.plan
            if self._coordinator.abort(turn, "asked for here"):
                self._answer(turn, order, name, self._in_force.epoch)
            else:
                self._refuse(turn, order, "the plan is decided; undo it instead")
        elif promise is None or promise.lock.epoch <= self._in_force.epoch:
            self._refuse(turn, order, "no plan is under way that could be aborted")
        else:
            self._answer(turn, order, promise.lock.plan, self._in_force.epoch)
            if promise.coordinator in self._around.alive():
                self._around.send(turn, promise.coordinator, AbortAsked(promise.lock.epoch))
            else:
                self.overrule(turn, promise)

    def _begin(
        self,
        turn: Turn,
        target: Overlay,
        moves: Moves,
        *,
        order: int = 0,
        supersedes: int = -1,
        source_epoch: int | None = None,
    ) -> None:
        """Become coordinator of a plan, once its new epoch is on disk and so never used again."""
        source = self._in_force.epoch if source_epoch is None else source_epoch
        epoch = self._use_epoch(turn, max(supersedes, source))
        name = plan_name(target, moves)

        def written(later: Turn) -> None:
            if self._coordinator.undertaking is not None:
                self._refuse(later, order, ANOTHER_PLAN, name)
                return
            # Who enters has nothing to carry over from the overlay that the others have in force.
            mode = self._mode(target) if source_epoch is None else "anew"
            lock = Lock(epoch, name, target, source, supersedes, moves, mode)
            heirs = heirs_of(self._in_force.overlay, target) if mode == "carry" else {}
            self._answer(later, order, name, epoch)
            self._coordinator.begin(later, lock, heirs)

        turn.once_synced(written)

    def _mode(self, target: Overlay) -> BuildingMode:
        """Choose whether brokers carry over what they know on the overlay in force.

        They do only if all of them are alive to do so, and if that saves messages.
        """
        source = self._in_force.overlay
        are_all_here = set(self._around.alive()).issuperset(source.brokers)
        return "carry" if are_all_here and is_worth_carrying(source, target) else "anew"

    def _use_epoch(self, turn: Turn, above: int = -1) -> int:
        """Take an epoch that is higher than all known ones.

        Its remainder by SEATS_MAX is this broker's seat, so that no other broker can take the same.
        """
        highest = max(self._in_force.epoch, self._last_used, self._around.void(), above)
        self._last_used = (highest // SEATS_MAX + 1) * SEATS_MAX + self._around.seat()
        turn.write(LAST_USED, self._last_used)
        return self._last_used

    def _refuse(self, turn: Turn, order: int, why: str, name: str = "") -> None:
        epoch = self._in_force.epoch
        turn.report(PlanRecord(plan=name, epoch=epoch, step="refused", detail=why))
        self._answer(turn, order, name, epoch, refusal=why)

    def _answer(
        self, turn: Turn, order: int, name: str, epoch: int, *, refusal: str | None = None
    ) -> None:
        """Tell whoever gave an order that its plan begins, or why it does not."""
        if order:
            turn.report(PlanAnswer(order=order, plan=name, epoch=epoch, refusal=refusal))
