from __future__ import annotations

import arrangement_twin as twin
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import CallerError, ProblemError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, told_worth
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import amount
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.planning.arrangement.methods import METHODS
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.arrangement.problem import arrangement_problem
from meshwright.planning.arrangement.seats import read_seats


def network(publications: float = 300.0, seed: int = 6) -> Snapshot:
    return generate_snapshot(
        16, 12, 3, "multimodal", seed=seed, publications_per_topic=publications
    )


def cost_of(overlay: Overlay, snapshot: Snapshot, delay_weight: float = 1.0) -> float:
    geometry, positions = read_seats(overlay, snapshot, overlay.design)
    return twin.cost(arrangement_problem(snapshot, geometry, delay_weight), positions.tolist())


def seats_after(plan: Plan) -> dict[str, int]:
    seats = dict(plan.source.positions or {})
    for step in plan.steps:
        first, second = step.brokers
        seats[first], seats[second] = seats[second], seats[first]
    return seats


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("geometry_name", sorted(KEY_GEOMETRIES))
def test_a_plan_predicts_the_cost_that_its_overlays_have(geometry_name: str, method: str) -> None:
    snapshot = network()
    start = arrange(snapshot, geometry_name, "lsap").target
    plan = arrange(snapshot, geometry_name, method, delay_weight=0.5, source=start)
    assert plan.source == start
    assert plan.cost.before == cost_of(plan.source, snapshot, 0.5)
    assert plan.cost.after == cost_of(plan.target, snapshot, 0.5)
    assert plan.cost.after == plan.cost.overhead_external_after + 0.5 * plan.cost.delay_after
    assert plan.net_benefit == plan.cost.before - plan.cost.after - plan.reconfiguration_cost


@pytest.mark.parametrize("method", METHODS)
def test_the_steps_of_a_plan_lead_from_its_source_to_its_target(method: str) -> None:
    snapshot = network()
    start = arrange(snapshot, "chord", "lsap").target
    plan = arrange(snapshot, "chord", method, source=start)
    assert seats_after(plan) == plan.target.positions
    assert [step.before for step in plan.steps[1:]] == [step.after for step in plan.steps[:-1]]
    if plan.steps:
        assert (plan.steps[0].before, plan.steps[-1].after) == (plan.cost.before, plan.cost.after)
    assert {step.algorithm for step in plan.steps} <= {method}
    before, after = plan.source.positions or {}, plan.target.positions or {}
    assert plan.moved == sum(before[name] != after[name] for name in snapshot.brokers)


def test_links_join_the_brokers_whose_positions_are_neighbours() -> None:
    snapshot = network()
    plan = arrange(snapshot, "chord", "best")
    geometry = key_geometry("chord", 16)
    names = {identifier: name for name, identifier in (plan.target.positions or {}).items()}
    expected = {
        frozenset(names[geometry.identifiers[position]] for position in link)
        for link in geometry.links.tolist()
    }
    assert {frozenset(link) for link in plan.target.links} == expected
    indexes = [tuple(map(snapshot.brokers.index, link)) for link in plan.target.links]
    assert indexes == sorted(indexes)
    assert all(lower < upper for lower, upper in indexes)


@given(st.integers(1, 6), st.sampled_from(sorted(METHODS)))
@settings(max_examples=20)
def test_the_few_and_the_lone_can_be_arranged_too(broker_count: int, method: str) -> None:
    snapshot = generate_snapshot(broker_count, 4, 2, "unif", seed=broker_count)
    plan = arrange(snapshot, "chord", method)
    assert plan.cost.after == cost_of(plan.target, snapshot)


@pytest.mark.parametrize("method", ["dynatops-greedy", "best"])
def test_nothing_better_than_now_is_a_plan_without_steps(method: str) -> None:
    plan = arrange(network(publications=0.001), "chord", method)
    assert plan.target == plan.source
    assert (plan.steps, plan.moved) == ((), 0)
    assert (plan.reconfiguration_cost, plan.net_benefit) == (0.0, 0.0)
    assert plan.summary.startswith("Nothing better than now")


def test_a_swap_that_costs_by_itself_names_what_it_makes_way_for() -> None:
    plans = [arrange(network(seed=seed), "chord", "lsap") for seed in range(20)]
    rising = [
        (plan, number)
        for plan in plans
        for number, step in enumerate(plan.steps)
        if step.after > step.before
    ]
    assert rising
    for plan, number in rising:
        step = plan.steps[number]
        least = min(later.after for later in plan.steps[number:])
        if least < step.before:
            assert f"makes way for swaps that save {amount(step.after - least)}" in step.why
        else:
            assert "leads to where" in step.why


def test_a_plan_that_does_not_pay_says_so() -> None:
    plan = arrange(network(publications=1.0), "chord", "lsap")
    assert plan.net_benefit < 0.0
    assert f"the net benefit is {amount(plan.net_benefit)}" in told_worth(plan)


def test_a_network_with_little_traffic_is_not_planned_if_the_test_is_asked_for() -> None:
    quiet, busy = network(publications=0.1), network()
    assert arrange(quiet, "chord", "ssbr-greedy").steps
    assert not arrange(quiet, "chord", "ssbr-greedy", reconfigurability_beta=0.1).steps
    assert arrange(busy, "chord", "ssbr-greedy", reconfigurability_beta=0.1).steps


def test_a_network_arranged_by_best_has_nothing_to_gain_from_best() -> None:
    snapshot = network()
    plan = arrange(snapshot, "chord", "best")
    again = arrange(snapshot, "chord", "best", source=plan.target)
    assert plan.net_benefit > 0.0
    assert again.net_benefit <= 0.01 * plan.net_benefit


def test_the_geometry_of_the_source_is_kept() -> None:
    snapshot = network()
    identifiers = np.arange(16, dtype=np.int64) ** 2
    source = Overlay(
        design="tapestry",
        params={"base": 4, "arrangement": "by hand"},
        brokers=snapshot.brokers,
        links=(),
        positions=dict(zip(snapshot.brokers, identifiers.tolist(), strict=True)),
    )
    plan = arrange(snapshot, "tapestry", "best", source=source)
    assert plan.target.params["base"] == 4
    assert sorted((plan.target.positions or {}).values()) == identifiers.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"design": "pastry"}, "of design 'pastry'"),
        ({"brokers": ("b00",)}, "give both the same brokers"),
        ({"positions": None}, "a position of its own"),
        ({"positions": {f"b{index:02d}": 7 for index in range(16)}}, "a position of its own"),
    ],
)
def test_a_source_that_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    snapshot = network()
    source = msgspec.structs.replace(arrange(snapshot, "chord", "hash").source, **change)
    with pytest.raises(ProblemError, match=message):
        arrange(snapshot, "chord", "best", source=source)


def test_an_identifier_outside_the_key_space_and_an_unknown_geometry_are_refused() -> None:
    snapshot = network()
    source = arrange(snapshot, "chord", "hash").source
    seats = {**(source.positions or {}), "b00": -1}
    with pytest.raises(CallerError, match="Identifiers"):
        arrange(snapshot, "chord", "best", source=msgspec.structs.replace(source, positions=seats))
    with pytest.raises(ProblemError, match="no design 'moebius'"):
        arrange(snapshot, "moebius", "best")


def test_a_plan_survives_its_file() -> None:
    plan = arrange(network(), "quadtree", "best")
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
