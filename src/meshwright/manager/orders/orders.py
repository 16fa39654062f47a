"""Orders about saved plans: one at a time, written down before they are given, and finished.

Whoever begins an order may be killed at any moment; whoever opens the same folder next finishes it.
What became of it is read from the brokers: from the plan under way there, from the steps that they
have taken, and from the overlay in force.

An abort of an order that brokers may not have yet is written down too, and heeded by whoever
finishes the order: before it is given, or else as soon as brokers have it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import NoAnswerError, PlanBegun
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import (
    Action,
    Outcome,
    Tell,
    end_of,
    follow,
    give,
    refuse_stale,
)
from meshwright.manager.orders.saved_plans import UNDER_WAY, Order, PlanState, PlanStore, SavedPlan
from meshwright.model.plan import Plan
from meshwright.protocol.reconfiguration.in_force import plan_name

BEGINS: dict[Action, PlanState] = {"apply": PlanState.APPLYING, "undo": PlanState.UNDOING}
MAY_BEGIN: dict[Action, tuple[PlanState, ...]] = {
    "apply": (
        PlanState.PROPOSED,
        PlanState.REFUSED,
        PlanState.ABORTED,
        PlanState.SUPERSEDED,
        PlanState.UNDONE,
    ),
    "undo": (PlanState.APPLIED,),
}
DONE: dict[Action, str] = {"apply": "applied", "undo": "undone"}
ENDED: dict[tuple[Action, str], PlanState] = {
    ("apply", "done"): PlanState.APPLIED,
    ("apply", "aborted"): PlanState.ABORTED,
    ("apply", "superseded"): PlanState.SUPERSEDED,
    ("undo", "done"): PlanState.UNDONE,
    ("undo", "aborted"): PlanState.APPLIED,
    ("undo", "superseded"): PlanState.SUPERSEDED,
}
# Who finishes an order takes so long to hear of an abort, unless it waits for brokers.
ABORT_S = 10.0
LOOK_EVERY_S = 0.1
NOT_GIVEN = "it was aborted before brokers were asked"


class Orders:
    """Applies and undoes the plans of a store at a network that runs."""

    def __init__(
        self, store: PlanStore, network: RunningNetwork, now_us: Callable[[], int]
    ) -> None:
        self._store = store
        self._network = network
        self._now_us = now_us

    def begin(
        self,
        action: Action,
        name: str,
        *,
        leader: str | None = None,
        cost_before: float | None = None,
    ) -> SavedPlan:
        """Write down that an order is about to be given; refused if it cannot be, or not now."""
        saved = self._store.plan(name)
        plan = saved.whole()
        self._refuse_second()
        if saved.state not in MAY_BEGIN[action]:
            raise OperatorError(
                f"Plan {name} is {saved.state.value}, so it cannot be {DONE[action]}; "
                "see meshwright plan list."
            )
        refuse_stale(self._network, action, plan)
        asked = self._network.control(leader or self._network.leader()).name
        order = Order(
            action=action,
            leader=asked,
            plan=_name_at_brokers(action, plan),
            after_epoch=self._highest_epoch(),
            given_us=self._now_us(),
            cost_before=cost_before,
        )
        # Why it was made is of interest still when it is in force; why it was refused once is not.
        why = saved.detail if saved.state is PlanState.PROPOSED else ""
        return self._store.write(saved.become(BEGINS[action], why, order=order, outcome=None))

    def finish(self, saved: SavedPlan, tell: Tell) -> SavedPlan:
        """Give an order unless brokers have it, follow it, and keep its outcome.

        Raises what brokers refuse it with, once that is kept. While no broker answers, the plan
        stays under way.
        """
        order, plan = saved.order, saved.whole()
        assert order is not None
        begun = self._known(order, plan)
        if begun is None and self._store.is_abort_asked(saved):
            return self._store.write(self._ended(saved, _not_given(order)))
        begun = begun or self._given(saved, order, plan)
        given = msgspec.structs.replace(order, leader=begun.broker, epoch=begun.epoch)
        saved = self._store.write(saved.become(saved.state, saved.detail, order=given))
        if self._store.is_abort_asked(saved):
            self._abort_given(begun)
        outcome = follow(self._network, order.action, begun, plan, tell)
        return self._store.write(self._ended(saved, outcome))

    def abort(self, within_s: float = ABORT_S) -> PlanBegun:
        """End the plan under way, unless it is decided: before it is given, or at the brokers.

        within_s: so long whoever finishes an order that brokers may not have yet is waited for.
        """
        saved = self._store.under_way()
        if saved is None:
            return self._network.decide(self._network.leader(), "abort")
        self._store.ask_abort(saved)
        found = self._given_or_ended(within_s, saved)
        if found.state in UNDER_WAY:
            return self._aborted_by_brokers(found)
        return self._aborted(found)

    def abort_left(self) -> PlanBegun:
        """The same where nobody else finishes orders."""
        saved = self._store.under_way()
        if saved is None:
            return self.abort()
        self._store.ask_abort(saved)
        return self._aborted(self.finish(saved, lambda _sight: None))

    def _aborted(self, ended: SavedPlan) -> PlanBegun:
        """How an abort ended; refused if its order came to another end."""
        if ended.outcome is None or ended.outcome.end != "aborted":
            raise OperatorError(
                f"Plan {ended.id} could not be aborted any more: it is {ended.state.value}; if it "
                "is in force, undo it instead."
            )
        return self._stays(ended.outcome.leader, ended.outcome.plan)

    def _aborted_by_brokers(self, saved: SavedPlan) -> PlanBegun:
        """Have brokers end an order that they have; who finishes it may have asked them already."""
        order = saved.order
        assert order is not None
        try:
            return self._network.decide(self._leader(saved), "abort")
        except OperatorError:
            begun = self._known(order, saved.whole())
            end = None if begun is None else end_of(self._network.progress(), begun)
            if end is None or end[0] != "aborted":
                raise
            return self._stays(order.leader, order.plan)

    def _stays(self, leader: str, plan: str) -> PlanBegun:
        """What an abort tells: the epoch that stays in force."""
        in_force = max(one.epoch for one in self._network.progress().values())
        return PlanBegun(broker=leader, plan=plan, epoch=in_force)

    def _given_or_ended(self, within_s: float, saved: SavedPlan) -> SavedPlan:
        """A plan once brokers have its order or it is at its end; refused if that takes longer."""
        deadline_s = time.monotonic() + within_s
        while _is_to_be_given(found := self._store.plan(saved.id)):
            if time.monotonic() > deadline_s:
                raise OperatorError(
                    f"Plan {saved.id} is to be aborted, and is {found.state.value} still: it ends "
                    "as soon as brokers answer, unless they have decided it; see meshwright plan "
                    f"show {saved.id}."
                )
            time.sleep(LOOK_EVERY_S)
        return found

    def _abort_given(self, begun: PlanBegun) -> None:
        """Have brokers end a plan that they have; one that is decided goes on."""
        try:
            self._network.decide(begun.broker, "abort")
        except NoAnswerError:  # asked again by whoever finishes the order
            raise
        except OperatorError:
            return

    def _refuse_second(self) -> None:
        other = self._store.under_way()
        if other is not None:
            raise OperatorError(
                f"Plan {other.id} is {other.state.value}, and one is carried out at a time; wait "
                "for its end, or end it with meshwright plan abort."
            )

    def _highest_epoch(self) -> int:
        """Of all that are in force or were used for a plan that brokers remember."""
        found = self._network.progress().values()
        return max(
            (epoch for one in found for epoch in (one.epoch, *(step.epoch for step in one.steps))),
            default=0,
        )

    def _known(self, order: Order, plan: Plan) -> PlanBegun | None:
        """The plan as brokers know it; None if the order has not reached them."""
        if order.epoch is not None:
            return PlanBegun(broker=order.leader, plan=order.plan, epoch=order.epoch)
        found = self._network.progress().values()
        goal = plan.target if order.action == "apply" else plan.source
        epochs = [
            epoch
            for one in found
            for name, epoch in (
                *((step.plan, step.epoch) for step in one.steps),
                *(() if one.under_way is None else ((one.under_way.name, one.under_way.epoch),)),
                *(((order.plan, one.epoch),) if one.overlay == goal else ()),
            )
            if name == order.plan and epoch > order.after_epoch
        ]
        if not epochs:
            return None
        return PlanBegun(broker=order.leader, plan=order.plan, epoch=max(epochs))

    def _given(self, saved: SavedPlan, order: Order, plan: Plan) -> PlanBegun:
        """Give the order, to another broker if the one that was to lead the plan is gone.

        An order that was not answered may still be taken, so the plan stays under way; whoever
        finishes it asks the brokers first.
        """
        try:
            return give(self._network, order.action, plan, self._leader(saved))
        except OperatorError as error:
            # Who does not answer in time may have taken it all the same.
            begun = self._known(order, plan)
            if begun is None and isinstance(error, NoAnswerError):
                raise
            if begun is None:
                self._store.write(self._refused(saved, order.action, str(error)))
                raise
            return begun

    def _leader(self, saved: SavedPlan) -> str:
        """Who leads the plan, or could in its place."""
        assert saved.order is not None
        answering = self._network.controls()
        return saved.order.leader if saved.order.leader in answering else min(answering)

    def _refused(self, saved: SavedPlan, action: Action, why: str) -> SavedPlan:
        state = PlanState.REFUSED if action == "apply" else PlanState.APPLIED
        return saved.become(state, why)

    def _ended(self, saved: SavedPlan, outcome: Outcome) -> SavedPlan:
        state = ENDED[outcome.action, outcome.end]
        changes: dict[str, Any] = {"outcome": outcome}
        if state is PlanState.APPLIED and outcome.action == "apply":
            changes["measured"] = None
        return saved.become(state, outcome.detail or saved.detail, **changes)


def _is_to_be_given(saved: SavedPlan) -> bool:
    """Whether an order is under way of which nobody knows that brokers have it."""
    return saved.state in UNDER_WAY and saved.order is not None and saved.order.epoch is None


def _not_given(order: Order) -> Outcome:
    """How an order ended that no broker ever had."""
    return Outcome(
        action=order.action,
        plan=order.plan,
        epoch=order.after_epoch,
        leader=order.leader,
        end="aborted",
        detail=NOT_GIVEN,
        brokers=0,
        elapsed_s=0.0,
    )


def _name_at_brokers(action: Action, plan: Plan) -> str:
    """How brokers call what they are asked for."""
    moves = plan.client_moves()
    if action == "apply":
        return plan_name(plan.target, moves)
    return plan_name(plan.source, tuple(move.back() for move in moves))
