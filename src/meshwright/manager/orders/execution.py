"""An order about a plan, followed to its end: what is in force at all brokers, and who moved.

The broker that is asked leads the plan. If it is lost, the others bring a plan that was decided to
its end, and give up one that was not; so the end is read from all brokers, not from one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import PlanBegun
from meshwright.live.telemetry.plan_log import PlanProgress
from meshwright.manager.network.running import RunningNetwork
from meshwright.model.plan import Plan
from meshwright.planning.changes.differences import overlay_changes

Action = Literal["apply", "undo"]
End = Literal["done", "aborted", "superseded"]

ENDS: tuple[End, ...] = ("done", "aborted", "superseded")
LOOK_EVERY_S = 0.2
# A client is sent away a few times, and its move given up after a minute.
CLIENTS_S = 75.0
PLAN_S = 600.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How an order ended.

    moved: clients that the plan moved. staying: clients that it could not move, by the reason.
    """

    action: Action
    plan: str
    epoch: int
    leader: str
    end: End
    detail: str
    brokers: int
    elapsed_s: float
    moved: int = 0
    staying: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Sight:
    """What is to be seen of a plan while it goes on."""

    step: str
    in_force: int
    brokers: int
    moved: int
    staying: int


Tell = Callable[[Sight], None]


def carry_out(
    network: RunningNetwork, action: Action, plan: Plan, *, leader: str | None, tell: Tell
) -> Outcome:
    """Have a plan applied or undone, and follow it until all is in force and clients have moved."""
    refuse_stale(network, action, plan)
    begun = give(network, action, plan, leader or network.leader())
    return follow(network, action, begun, plan, tell)


def give(network: RunningNetwork, action: Action, plan: Plan, leader: str) -> PlanBegun:
    """Have a broker lead a plan; refused with its reason if it will not."""
    return network.decide(leader, action, plan)


def follow(
    network: RunningNetwork, action: Action, begun: PlanBegun, plan: Plan, tell: Tell
) -> Outcome:
    """Follow a plan until all is in force and clients have moved, or until it is given up."""
    began_s = time.monotonic()
    end, detail = _followed(network, begun, tell, began_s + PLAN_S)
    found = network.progress()
    if end == "done":
        moves = plan.client_moves()
        senders = [move.source if action == "apply" else move.target for move in moves]
        found = _clients_moved(network, begun, senders, tell)
    return Outcome(
        action=action,
        plan=begun.plan,
        epoch=begun.epoch,
        leader=begun.broker,
        end=end,
        detail=detail,
        brokers=_in_force(found, begun.epoch),
        elapsed_s=time.monotonic() - began_s,
        moved=sum(one.moved for one in found.values() if one.epoch == begun.epoch),
        staying=_staying(found, begun.epoch),
    )


def refuse_stale(network: RunningNetwork, action: Action, plan: Plan) -> None:
    """Say what has changed since a plan was made; an undone plan must be the one in force."""
    expected = plan.source if action == "apply" else plan.target
    changes = overlay_changes(expected, network.in_force())
    if changes:
        made_for = "was made for" if action == "apply" else "led to"
        raise OperatorError(
            f"The plan {made_for} another overlay than the one in force: {'; '.join(changes)}. "
            "Plan again."
        )


def _followed(
    network: RunningNetwork, begun: PlanBegun, tell: Tell, deadline_s: float
) -> tuple[End, str]:
    while True:
        found = network.progress()
        tell(_sight(found, begun))
        end = end_of(found, begun)
        if end is not None:
            return end
        if time.monotonic() > deadline_s:
            raise OperatorError(
                f"Plan {begun.plan} is not at its end after {PLAN_S / 60:.0f} minutes; see "
                "meshwright status, and end it with meshwright plan abort."
            )
        time.sleep(LOOK_EVERY_S)


def end_of(found: dict[str, PlanProgress], begun: PlanBegun) -> tuple[End, str] | None:
    """How a plan ended, by its leader's word, or by what is in force if the leader is lost."""
    leader = found.get(begun.broker)
    steps = () if leader is None else leader.steps
    for one in reversed(steps):
        if one.epoch == begun.epoch and one.step in ENDS:
            return one.step, one.detail
    if any(one.epoch == begun.epoch for one in steps):
        return None
    # The leader is lost, or was started again and remembers no step.
    lost = f"{begun.broker} was lost meanwhile"
    others = [one for one in found.values() if one.broker != begun.broker]
    if others and all(one.epoch >= begun.epoch for one in others):
        return ("done" if _in_force(found, begun.epoch) else "superseded"), lost
    is_under_way = any(
        one.under_way is not None and one.under_way.epoch == begun.epoch for one in others
    )
    if others and not is_under_way and not _in_force(found, begun.epoch):
        return "aborted", lost
    return None


def _clients_moved(
    network: RunningNetwork, begun: PlanBegun, senders: list[str], tell: Tell
) -> dict[str, PlanProgress]:
    """Wait until every client that the plan names has moved or is known to stay.

    senders: for each of them, who is to send it; those of a lost broker come as they like.
    """
    deadline_s = time.monotonic() + CLIENTS_S
    while True:
        found = network.progress()
        sight = _sight(found, begun)
        tell(sight)
        awaited_count = sum(sender in found for sender in senders)
        if sight.moved + sight.staying >= awaited_count or time.monotonic() > deadline_s:
            return found
        time.sleep(LOOK_EVERY_S)


def _sight(found: dict[str, PlanProgress], begun: PlanBegun) -> Sight:
    leader = found.get(begun.broker)
    steps = [one.step for one in (leader.steps if leader else ()) if one.epoch == begun.epoch]
    return Sight(
        step=steps[-1] if steps else "",
        in_force=_in_force(found, begun.epoch),
        brokers=len(found),
        moved=sum(one.moved for one in found.values() if one.epoch == begun.epoch),
        staying=sum(_staying(found, begun.epoch).values()),
    )


def _in_force(found: dict[str, PlanProgress], epoch: int) -> int:
    """At how many brokers the overlay of an epoch is in force."""
    return sum(one.epoch == epoch for one in found.values())


def _staying(found: dict[str, PlanProgress], epoch: int) -> dict[str, int]:
    """Clients that could not be moved, at all brokers together, by the reason."""
    total: Counter[str] = Counter()
    for one in found.values():
        if one.epoch == epoch:
            total.update(one.staying)
    return dict(sorted(total.items()))
