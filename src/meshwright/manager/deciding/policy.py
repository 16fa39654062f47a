"""Whether a plan is carried out by itself: a pure answer with its reason.

Against thrashing: several plannings in a row must find it worth while; after a change there is a
rest, which doubles with each change that comes soon after another; and what a plan promises counts
only as far as the plans before it kept what they promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from meshwright.manager.orders.saved_plans import Cost, PlanEntry
from meshwright.manager.settings import DAY_MINUTES, PolicySettings, hours_of
from meshwright.model.plan import Plan, told_worth
from meshwright.model.times import SECOND_US
from meshwright.model.wording import amount

# Plans whose promises count, and by how much a rest grows at most.
REMEMBERED_PLANS = 5
REST_DOUBLINGS_MAX = 6
# A change is soon after another if fewer rests lie between them.
SOON_RESTS = 16
MINUTE_US = 60 * SECOND_US


class PolicyState(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy remembers.

    agreeing: plannings in a row that found a change worth while. rested_us: when the last change
    ended. doublings: how often the rest after it is doubled. trust: what share of their promises
    earlier plans kept.
    """

    agreeing: int = 0
    rested_us: int | None = None
    doublings: int = 0
    trust: float = 1.0


class Decision(NamedTuple):
    """What is decided on a plan and why, and what is remembered."""

    verdict: Literal["apply", "wait", "never"]
    reason: str
    state: PolicyState


def decide(settings: PolicySettings, state: PolicyState, plan: Plan, now_us: int) -> Decision:
    """Whether a plan that was just made is to be carried out."""
    refusal = _refusal(settings, state, plan)
    if refusal is not None:
        return Decision("never", refusal, msgspec.structs.replace(state, agreeing=0))
    agreed = msgspec.structs.replace(state, agreeing=state.agreeing + 1)
    if settings.mode == "manual":
        return Decision("wait", "the policy is manual: an operator decides", agreed)
    if agreed.agreeing < settings.confirmations:
        return Decision(
            "wait",
            f"{agreed.agreeing} of {settings.confirmations} plannings in a row found a change "
            "worth while",
            agreed,
        )
    left_s = (rest_ends_us(settings, state) - now_us) / SECOND_US
    if left_s > 0:
        return Decision("wait", f"the network rests for {left_s:.0f} s more", agreed)
    if not is_in_hours(settings, now_us):
        return Decision("wait", f"plans begin in {settings.hours} UTC only", agreed)
    return Decision(
        "apply",
        f"{agreed.agreeing} plannings in a row found it worth while, within all limits",
        msgspec.structs.replace(agreed, agreeing=0),
    )


def decide_churn(settings: PolicySettings, state: PolicyState, plan: Plan) -> Decision:
    """Whether a plan for brokers that came or went is to be carried out: at once, within limits.

    Few links change and clients stay, and what is put off is a topic with fewer ways than k. So
    nothing is confirmed, no rest is waited for, and it need not pay.
    """
    refusal = _too_large(settings, plan)
    if refusal is not None:
        return Decision("never", refusal, state)
    if settings.mode == "manual":
        return Decision("wait", "the policy is manual: an operator decides", state)
    return Decision("apply", "few links change where brokers came or went, within limits", state)


def is_in_hours(settings: PolicySettings, now_us: int) -> bool:
    """Whether a plan may begin now."""
    begin, end = hours_of(settings.hours)
    minute = now_us // MINUTE_US % DAY_MINUTES
    return begin <= minute < end if begin < end else minute >= begin or minute < end


def rest_ends_us(settings: PolicySettings, state: PolicyState) -> int:
    """When the rest after the last change is over."""
    if state.rested_us is None:
        return 0
    return state.rested_us + _rest_us(settings, state)


def changed(settings: PolicySettings, state: PolicyState, now_us: int) -> PolicyState:
    """A change has ended: the rest begins, twice as long as the last if that is not long over."""
    soon_us = SOON_RESTS * _rest_us(settings, state)
    is_soon = state.rested_us is not None and now_us < state.rested_us + soon_us
    doublings = min(state.doublings + 1, REST_DOUBLINGS_MAX) if is_soon else 0
    return msgspec.structs.replace(state, agreeing=0, rested_us=now_us, doublings=doublings)


def remembered(settings: PolicySettings, entries: Sequence[PlanEntry]) -> PolicyState:
    """What a policy knows of changes that a former life of the manager made: the rest goes on."""
    ends_us = sorted(
        one.order.given_us + round(one.outcome.elapsed_s * SECOND_US)
        for one in entries
        if one.order is not None and one.outcome is not None and one.origin != "churn"
    )
    state = PolicyState()
    for ended_us in ends_us:
        state = changed(settings, state, ended_us)
    return state


def _rest_us(settings: PolicySettings, state: PolicyState) -> int:
    return round(settings.cool_down_s * SECOND_US) << state.doublings


def trust_in(entries: Sequence[PlanEntry]) -> float:
    """The share of what the last plans promised that was measured after them; 1 if none was."""
    kept = [
        _kept(one.predicted, one.measured)
        for one in entries
        if one.predicted is not None and one.measured is not None
    ]
    known = [share for share in kept if share is not None][-REMEMBERED_PLANS:]
    return sum(known) / len(known) if known else 1.0


def _kept(predicted: Cost, measured: Cost) -> float | None:
    """Of the share of messages that was to be saved, how much was; None if nothing was to be."""
    promised, saved = _saved(predicted), _saved(measured)
    return min(1.0, max(0.0, saved / promised)) if promised > 0 else None


def _saved(cost: Cost) -> float:
    return 1.0 - cost.after / cost.before if cost.before > 0 else 0.0


def _too_large(settings: PolicySettings, plan: Plan) -> str | None:
    if not plan.steps:
        return "nothing is better than now"
    clients = len(plan.client_moves())
    if 0 < settings.clients_max < clients:
        return f"it moves {clients} clients, more than policy.clients_max {settings.clients_max}"
    if 0 < settings.messages_max < plan.reconfiguration_cost:
        return (
            f"the change costs {plan.reconfiguration_cost:,.0f} messages, more than "
            f"policy.messages_max {settings.messages_max:,.0f}"
        )
    return None


def _refusal(settings: PolicySettings, state: PolicyState, plan: Plan) -> str | None:
    too_large = _too_large(settings, plan)
    if too_large is not None:
        return too_large
    # As the plan counts it: the price of deliveries that are missed today is no loss.
    change = plan.reconfiguration_cost if plan.price is None else plan.price.change
    worth = state.trust * (plan.net_benefit + change) - change
    if worth < settings.benefit_min:
        trusted = "" if state.trust == 1.0 else f", trusted by {state.trust:.0%}"
        return (
            f"its net benefit{trusted} is {amount(worth)}, less than policy.benefit_min "
            f"{settings.benefit_min:,.0f}; {told_worth(plan)}"
        )
    return None
