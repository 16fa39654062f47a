"""Arrangement where delays between brokers are known: the dull twin, brute force, equal hops."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import arrangement_twin as twin
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.lab.workloads import generate_snapshot
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.planning.arrangement.cost import arrangement_cost, broker_costs
from meshwright.planning.arrangement.kernels.delay_partners import (
    follow_way_costs,
    partner_delay_changes,
    way_costs_of,
)
from meshwright.planning.arrangement.kernels.swaps import seat, swap
from meshwright.planning.arrangement.kernels.ways import (
    DelayTables,
    delay_change,
    follow,
    ways_of,
)
from meshwright.planning.arrangement.methods import METHODS
from meshwright.planning.arrangement.paths import swap_path
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.arrangement.problem import Problem, arrangement_problem, hash_positions
from meshwright.planning.arrangement.search import new_search
from meshwright.planning.evaluation.evaluate import evaluate


@settings(max_examples=60, deadline=None)
@given(twin.arranged_problems(broker_count_min=2), st.integers(0, 99))
def test_costs_are_those_of_the_dull_twin(arranged: tuple[Problem, list[int]], seed: int) -> None:
    problem, positions = twin.with_delays(arranged[0], seed), arranged[1]
    seats = np.array(positions, dtype=np.int32)
    assert broker_costs(problem, seats).tolist() == pytest.approx(
        twin.broker_costs(problem, positions)
    )
    found = arrangement_cost(problem, seats)
    assert found.delay == pytest.approx(twin.delay(problem, positions))
    assert found.total == pytest.approx(twin.cost(problem, positions))


@settings(max_examples=60, deadline=None)
@given(twin.arranged_problems(broker_count_min=2), st.integers(0, 99))
def test_swaps_change_the_cost_as_the_twin_says(
    arranged: tuple[Problem, list[int]], seed: int
) -> None:
    problem, positions = twin.with_delays(arranged[0], seed), arranged[1]
    count = problem.broker_count
    swaps = np.random.default_rng(seed).integers(count, size=(5, 2)).astype(np.int32)
    swaps = swaps[swaps[:, 0] != swaps[:, 1]]
    search = new_search(problem, np.array(positions, dtype=np.int32))
    path = swap_path(search.tables, search.start, swaps)
    costs = [twin.cost(problem, positions)]
    for first, second in swaps.tolist():
        positions = twin.swapped(positions, first, second)
        costs.append(twin.cost(problem, positions))
    assert path.costs.tolist() == pytest.approx(costs, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(twin.arranged_problems(broker_count_min=2), st.integers(0, 99))
def test_partners_are_judged_at_once_as_swap_by_swap_also_after_swaps(
    arranged: tuple[Problem, list[int]], seed: int
) -> None:
    problem, positions = twin.with_delays(arranged[0], seed), arranged[1]
    search = new_search(problem, np.array(positions, dtype=np.int32))
    known, brokers = search.tables, np.arange(problem.broker_count)
    assert isinstance(known, DelayTables)
    seating = seat(known.tables, search.start)
    ways = ways_of(known, seating)
    costs = way_costs_of(known, ways)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        first, second = rng.choice(brokers, size=2, replace=False)
        changes = partner_delay_changes(known, seating, ways, costs, first)
        for other in brokers[brokers != first]:
            change = delay_change(known, seating, ways, first, other)
            assert changes[other] == pytest.approx(change, abs=1e-9)
        here, there = seating.positions[[first, second]]
        follow(known, seating, ways, first, second)
        swap(known.tables, seating, first, second)
        follow_way_costs(known, ways, costs, here, there)
    fresh = ways_of(known, seating)
    assert np.array_equal(ways.occupants, fresh.occupants)
    assert ways.flows == pytest.approx(fresh.flows, abs=1e-9)
    assert costs == pytest.approx(way_costs_of(known, fresh))


@settings(max_examples=30, deadline=None)
@given(twin.arranged_problems(broker_count_max=6, broker_count_min=2), st.integers(0, 99))
def test_the_greedy_makes_the_swaps_of_the_twin(
    arranged: tuple[Problem, list[int]], seed: int
) -> None:
    problem, positions = twin.with_delays(arranged[0], seed), arranged[1]
    search = new_search(problem, np.array(positions, dtype=np.int32))
    target = METHODS["ssbr-greedy"](search).target.tolist()
    after = list(positions)
    for first, second in twin.greedy(problem, positions):
        after = twin.swapped(after, first, second)
    assert twin.cost(problem, target) == pytest.approx(twin.cost(problem, after))


@settings(max_examples=30, deadline=None)
@given(twin.arranged_problems(broker_count_min=2), st.integers(0, 99))
def test_where_all_brokers_are_equally_far_a_hop_is_a_hop(
    arranged: tuple[Problem, list[int]], seed: int
) -> None:
    problem, positions = arranged
    equal = twin.with_delays(problem, seed, are_equal=True)
    seats = np.array(positions, dtype=np.int32)
    assert arrangement_cost(equal, seats).total == pytest.approx(
        arrangement_cost(problem, seats).total
    )
    for method in ("ssbr-greedy", "best"):
        hops, far = (
            METHODS[method](new_search(each, seats, net=False)).target for each in (problem, equal)
        )
        assert twin.cost(problem, far.tolist()) == pytest.approx(twin.cost(problem, hops.tolist()))


@pytest.mark.parametrize("shape", sorted(KEY_GEOMETRIES))
@pytest.mark.parametrize("seed", range(3))
def test_best_is_the_best_of_all_arrangements_of_six_brokers(shape: str, seed: int) -> None:
    snapshot = generate_snapshot(6, 8, 3, "unif", seed=seed)
    geometry = key_geometry(shape, 6)
    problem = twin.with_delays(arrangement_problem(snapshot, geometry, 2.0), seed)
    start = hash_positions(snapshot.brokers)
    found = METHODS["best"](new_search(problem, start, net=False)).target
    least = min(
        arrangement_cost(problem, np.array(one, dtype=np.int32)).total
        for one in permutations(range(6))
    )
    assert arrangement_cost(problem, found).total == pytest.approx(least)


def test_two_distant_sites_are_told_apart_by_delays_and_not_by_hops() -> None:
    snapshot = generate_snapshot(16, 12, 4, "unif", seed=2)
    site = np.arange(16) % 2
    delays_ms = np.where(site[:, None] == site, 1.0, 60.0)
    np.fill_diagonal(delays_ms, 0.0)
    far = replace(snapshot, delays_ms=delays_ms)
    by_hops = arrange(snapshot, "chord", "best", delay_weight=5.0, net=False).target
    plan = arrange(far, "chord", "best", delay_weight=5.0, net=False)
    hops, ms = evaluate(by_hops, far), evaluate(plan.target, far)
    assert hops.delay_ms_mean is not None
    assert ms.delay_ms_mean is not None
    assert ms.delay_ms_mean < 0.95 * hops.delay_ms_mean
    assert plan.cost.after == pytest.approx(evaluate(plan.target, far, delay_weight=5.0).cost)
