"""Whether a plan is carried out by itself: within limits, and never to and fro."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from live_network import small_overlay

from meshwright.errors import SettingError
from meshwright.lab.workloads import generate_snapshot
from meshwright.manager.deciding.policy import (
    Decision,
    PolicyState,
    changed,
    decide,
    decide_churn,
    remembered,
    rest_ends_us,
    trust_in,
)
from meshwright.manager.orders.execution import Outcome
from meshwright.manager.orders.saved_plans import Cost, Order, PlanEntry, PlanState
from meshwright.manager.settings import PolicySettings, check_policy
from meshwright.model.plan import Plan, PlanCost, Step, told_worth
from meshwright.model.price import PriceWeights
from meshwright.model.wording import amount
from meshwright.planning.changes.network import PlanWish
from meshwright.planning.changes.proposal import Circumstances, propose
from meshwright.planning.designs import build_overlay

SECOND_US = 1_000_000
NOON_US = 12 * 3_600 * SECOND_US
SETTINGS = PolicySettings(
    mode="automatic", clients_max=10, messages_max=500.0, benefit_min=100.0, cool_down_s=60.0
)
READY = PolicyState(agreeing=5)


def plan_worth(gain: float, price: float = 10.0, clients: int = 0) -> Plan:
    """A plan that saves so many messages, and moves some clients."""
    overlay = small_overlay("chord")
    steps = tuple(
        Step(
            action="move_client", brokers=(f"c{number}", "b0", "b1"), why="", algorithm="",
            metric="", before=0.0, after=0.0,
        )
        for number in range(max(clients, int(gain > 0)))
    )  # fmt: skip
    return Plan(
        source=overlay,
        target=overlay,
        steps=steps,
        cost=PlanCost(
            before=1_000.0 + gain,
            after=1_000.0,
            overhead_external_before=0.0,
            overhead_external_after=0.0,
            delay_before=0.0,
            delay_after=0.0,
        ),
        reconfiguration_cost=price,
        net_benefit=gain - price,
        moved=0,
        summary="",
    )


def decided(
    plan: Plan, state: PolicyState = READY, now_us: int = NOON_US, **changes: object
) -> Decision:
    return decide(msgspec.structs.replace(SETTINGS, **changes), state, plan, now_us)


def entry(promised: float, saved: float) -> PlanEntry:
    return PlanEntry(
        id="p1",
        created_us=0,
        origin="policy",
        state=PlanState.APPLIED,
        predicted=Cost(before=1.0, after=1.0 - promised),
        measured=Cost(before=1.0, after=1.0 - saved),
    )


def test_what_is_worth_while_and_within_all_limits_is_applied() -> None:
    assert decided(plan_worth(1_000.0)).verdict == "apply"


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (plan_worth(0.0), "nothing is better than now"),
        (plan_worth(1_000.0, clients=11), "it moves 11 clients, more than policy.clients_max 10"),
        (plan_worth(9_000.0, price=501.0), "more than policy.messages_max 500"),
        (plan_worth(100.0, price=1.0), "its net benefit is 99, less than policy.benefit_min 100"),
    ],
)
def test_what_passes_a_limit_is_never_applied_and_says_which(plan: Plan, reason: str) -> None:
    found = decided(plan)
    assert found.verdict == "never"
    assert reason in found.reason
    assert found.state.agreeing == 0


def test_an_operator_decides_unless_the_policy_is_automatic() -> None:
    found = decided(plan_worth(1_000.0), mode="manual")
    assert (found.verdict, found.reason) == ("wait", "the policy is manual: an operator decides")


def test_one_planning_alone_changes_nothing() -> None:
    first = decided(plan_worth(1_000.0), PolicyState())
    assert first.verdict == "wait"
    assert first.reason.startswith("1 of 2 plannings in a row")
    assert decided(plan_worth(1_000.0), first.state).verdict == "apply"


def test_plans_begin_in_their_hours_only_also_past_midnight() -> None:
    plan, nights = plan_worth(1_000.0), "22:00-04:30"
    found = decided(plan, hours=nights)
    assert (found.verdict, found.reason) == ("wait", "plans begin in 22:00-04:30 UTC only")
    for hour in (22, 23, 0, 4):
        assert decided(plan, now_us=hour * 3_600 * SECOND_US, hours=nights).verdict == "apply"


def test_a_rest_follows_a_change_and_doubles_with_each_that_comes_soon() -> None:
    state, now_us = PolicyState(), NOON_US
    rests_s = []
    for _ in range(4):
        state = changed(SETTINGS, state, now_us)
        rests_s.append((rest_ends_us(SETTINGS, state) - now_us) / SECOND_US)
        busy = msgspec.structs.replace(state, agreeing=5)
        assert decided(plan_worth(1_000.0), busy, now_us).verdict == "wait"
        now_us = rest_ends_us(SETTINGS, state)
    assert rests_s == [60.0, 120.0, 240.0, 480.0]
    later_us = now_us + 16 * 480 * SECOND_US
    calm = changed(SETTINGS, state, later_us)
    assert (rest_ends_us(SETTINGS, calm) - later_us) / SECOND_US == 60.0


def test_trust_is_the_share_of_promises_that_plans_kept() -> None:
    assert trust_in(()) == 1.0
    assert trust_in((entry(0.4, 0.4),)) == pytest.approx(1.0)
    assert trust_in((entry(0.4, 0.1), entry(0.4, 0.3))) == pytest.approx(0.5)
    assert trust_in((entry(0.4, -1.0),)) == 0.0  # worse than before
    assert trust_in([entry(0.4, 0.0)] + [entry(0.4, 0.4)] * 5) == pytest.approx(1.0)


def test_a_plan_that_did_not_deliver_makes_the_next_count_for_less() -> None:
    distrust = PolicyState(agreeing=5, trust=0.25)
    assert decided(plan_worth(400.0)).verdict == "apply"
    found = decided(plan_worth(400.0), distrust)
    assert found.verdict == "never"
    assert "trusted by 25%, is 90" in found.reason.replace(" is", ", is", 1)


@pytest.mark.parametrize("windows", [1, 2, 3, 7])
def test_a_workload_that_alternates_is_not_followed_to_and_fro(windows: int) -> None:
    """Two overlays, each better for one half of the workload; naive plans would follow it."""
    every_us, count = 60 * SECOND_US, 600
    state, is_for_first, changes, naive = PolicyState(), True, 0, 0
    for number in range(count):
        now_us = NOON_US + number * every_us
        wants_first = number // windows % 2 == 0
        naive += number % windows == 0 and number > 0
        plan = plan_worth(0.0 if wants_first == is_for_first else 1_000.0)
        verdict, _, state = decide(SETTINGS, state, plan, now_us)
        if verdict == "apply":
            is_for_first, changes = wants_first, changes + 1
            state = changed(SETTINGS, state, now_us)
    assert naive == (count - 1) // windows
    assert changes <= 16
    if windows < SETTINGS.confirmations:
        assert changes == 0


def test_a_change_for_good_is_followed_though_changes_were_many() -> None:
    state = PolicyState()
    for _ in range(6):
        state = changed(SETTINGS, state, NOON_US)
    now_us = rest_ends_us(SETTINGS, state) + SECOND_US
    ready = msgspec.structs.replace(state, agreeing=1)
    assert decided(plan_worth(1_000.0), ready, now_us).verdict == "apply"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"hours": "22:00-22:00"}, "leaves no time in which a plan may begin"),
        ({"hours": "25:00-26:00"}, "is no part of a day"),
        ({"mode": "automatic", "hours": "02:00-02:05"}, "so that hardly any would"),
        ({"benefit_min": -1.0}, "policy.benefit_min is -1"),
        ({"confirmations": 0}, "policy.confirmations is 0"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(
    changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        check_policy(msgspec.structs.replace(PolicySettings(), **changes))


def test_a_plan_that_makes_missed_deliveries_is_judged_by_what_it_saves_for_the_others() -> None:
    """An overlay that misses deliveries costs less than one that makes them."""
    plan = plan_worth(1_000.0)
    making = msgspec.structs.replace(
        plan,
        cost=msgspec.structs.replace(
            plan.cost, after=5_000.0, missed_before=900.0, newly_made=4_000.0
        ),
    )
    assert decided(making).verdict == "apply"


@pytest.mark.parametrize("name", ["chord", "gm", "mesh", "ocbr"])
def test_policy_plan_text_and_table_name_the_same_figure(name: str) -> None:
    snapshot = generate_snapshot(12, 20, 4, "zipf", seed=2)
    today = build_overlay("tree", snapshot, rng=np.random.default_rng(0))
    wish = PlanWish(name, objective="cost", weights=PriceWeights(reconfiguration=2.0))
    plan = propose(snapshot, wish, Circumstances(source=today))
    assert plan.price is not None
    before, after = plan.price.before, plan.price.after
    for price in (before, after):
        assert sum(price.parts().values()) == pytest.approx(price.total)
    saved = {part: own - after.parts()[part] for part, own in before.parts().items()}
    assert sum(saved.values()) * plan.price.publications == pytest.approx(plan.net_benefit)
    assert plan.price.change == pytest.approx(2.0 * plan.reconfiguration_cost)
    word = "saves" if plan.net_benefit > 0.0 else "loses"
    assert f"{word} {amount(abs(plan.net_benefit))} messages" in told_worth(plan)
    assert f"from {before.shown()['price']} to {after.shown()['price']}," in told_worth(plan)
    reason = decided(plan, benefit_min=1e12, messages_max=0.0).reason
    assert f"its net benefit is {amount(plan.net_benefit)}, less than" in reason
    assert reason.endswith(told_worth(plan))


def ended_change(given_s: int, elapsed_s: float) -> PlanEntry:
    """A change that a manager made."""
    order = Order(
        action="apply", leader="b0", plan="x", after_epoch=0, given_us=given_s * SECOND_US, epoch=1
    )
    outcome = Outcome(
        action="apply", plan="x", epoch=1, leader="b0", end="done", detail="", brokers=3,
        elapsed_s=elapsed_s,
    )  # fmt: skip
    return PlanEntry(
        id="p1", created_us=0, origin="policy", state=PlanState.APPLIED, order=order,
        outcome=outcome,
    )  # fmt: skip


def test_a_manager_that_was_started_again_goes_on_with_the_rest_of_its_former_life() -> None:
    assert remembered(SETTINGS, ()) == PolicyState()
    once = remembered(SETTINGS, (ended_change(100, 5.0),))
    assert rest_ends_us(SETTINGS, once) == (100 + 5 + 60) * SECOND_US
    both = (ended_change(300, 5.0), ended_change(100, 5.0))
    twice = remembered(SETTINGS, both)
    assert rest_ends_us(SETTINGS, twice) == (300 + 5 + 2 * 60) * SECOND_US
    assert twice == changed(SETTINGS, changed(SETTINGS, PolicyState(), 105_000_000), 305_000_000)


def test_a_plan_for_who_came_or_went_needs_no_confirmation_rest_or_gain_but_keeps_limits() -> None:
    resting = PolicyState(agreeing=0, rested_us=NOON_US, doublings=3)
    verdict, reason, state = decide_churn(SETTINGS, resting, plan_worth(1.0, clients=1))
    assert (verdict, state) == ("apply", resting)
    assert "few links" in reason
    manual = msgspec.structs.replace(SETTINGS, mode="manual")
    assert decide_churn(manual, resting, plan_worth(1.0)).verdict == "wait"
    for plan, why in (
        (plan_worth(1.0, clients=11), "clients_max 10"),
        (plan_worth(1.0, price=501.0), "messages_max 500"),
        (plan_worth(0.0), "nothing is better than now"),
    ):
        verdict, reason, _ = decide_churn(SETTINGS, resting, plan)
        assert verdict == "never"
        assert why in reason
