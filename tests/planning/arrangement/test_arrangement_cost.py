from __future__ import annotations

import arrangement_twin as twin
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import CallerError, ProblemError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import Int32Array, interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.key_geometries import key_geometry
from meshwright.planning.arrangement.cost import arrangement_cost, broker_costs
from meshwright.planning.arrangement.paths import path_towards, swap_path
from meshwright.planning.arrangement.problem import Problem, arrangement_problem, hash_positions
from meshwright.planning.arrangement.reconfiguration import (
    is_reconfigurable,
    reconfiguration_cost,
    reconfiguration_costs,
)
from meshwright.planning.arrangement.search import search_tables

Arranged = tuple[Problem, list[int]]


def array(positions: list[int]) -> Int32Array:
    return np.array(positions, dtype=np.int32)


def moved(source: list[int], target: list[int]) -> int:
    return sum(one != other for one, other in zip(source, target, strict=True))


@given(twin.arranged_problems())
def test_cost_and_its_parts_equal_those_of_trees_built_as_sets(arranged: Arranged) -> None:
    problem, positions = arranged
    cost = arrangement_cost(problem, array(positions))
    overheads = (cost.overhead_internal, cost.overhead_external)
    assert overheads == twin.overheads(problem, positions)
    assert cost.delay == twin.delay(problem, positions)
    assert cost.total == twin.cost(problem, positions)


@given(twin.arranged_problems())
def test_broker_costs_equal_the_dull_ones_and_add_up_to_the_cost(arranged: Arranged) -> None:
    problem, positions = arranged
    costs = broker_costs(problem, array(positions))
    assert costs.tolist() == twin.broker_costs(problem, positions)
    assert costs.sum() == arrangement_cost(problem, array(positions)).total


def test_the_root_is_not_an_unrelated_relay() -> None:
    snapshot = Snapshot(
        brokers=(BrokerName("wants it"), BrokerName("sits at the root")),
        topics=(TopicName("topic"),),
        interests=interests_from_sets([{0}, set()], 1),
        publications=np.array([5.0]),
    )
    problem = arrangement_problem(snapshot, key_geometry("chord", 2))
    root = int(problem.roots[0])
    cost = arrangement_cost(problem, array([1 - root, root]))
    assert (cost.overhead_internal, cost.overhead_external, cost.delay) == (5.0, 0.0, 5.0)


@given(twin.arranged_problems(broker_count_min=2), st.data())
@settings(max_examples=200)
def test_the_change_by_each_swap_equals_full_recomputation(
    arranged: Arranged, draws: st.DataObject
) -> None:
    problem, positions = arranged
    broker = st.integers(0, problem.broker_count - 1)
    pair = st.tuples(broker, broker).filter(lambda pair: pair[0] != pair[1])
    swaps = draws.draw(st.lists(pair, max_size=6))
    path = swap_path(search_tables(problem), array(positions), np.array(swaps, dtype=np.int32))
    arrangements = [positions]
    for first, second in swaps:
        arrangements.append(twin.swapped(arrangements[-1], first, second))
    assert path.costs.tolist() == [twin.cost(problem, each) for each in arrangements]
    assert path.moved.tolist() == [moved(positions, each) for each in arrangements]
    assert path.target.tolist() == arrangements[-1]


@given(twin.arranged_problems(), st.data())
def test_a_path_towards_a_target_arrives_with_one_swap_less_than_moves_in_each_cycle(
    arranged: Arranged, draws: st.DataObject
) -> None:
    problem, positions = arranged
    target = draws.draw(st.permutations(positions))
    path = path_towards(search_tables(problem), array(positions), array(target))
    assert path.target.tolist() == target
    assert len(path.swaps) <= max(moved(positions, target) - 1, 0)


@given(st.integers(1, 200), st.integers(0, 50), st.integers(0, 200))
def test_reconfiguration_costs_nothing_if_nobody_moves_and_else_grows_with_the_moved(
    brokers: int, topics: int, move_count: int
) -> None:
    price = reconfiguration_cost(move_count, brokers, topics)
    many = reconfiguration_costs(np.arange(move_count + 1), brokers, topics)
    assert many[0] == 0.0
    assert many[-1] == price
    assert bool(np.all(np.diff(many) >= 0.0))


def test_reconfiguration_costs_what_the_paper_bounds_with_unit_constants() -> None:
    assert reconfiguration_cost(2, 8, 10) == 8 + 2 * 3**2 + 2 * 10 * 3
    assert is_reconfigurable(0.1 * reconfiguration_cost(8, 8, 10) + 1.0, 8, 10)
    assert not is_reconfigurable(0.1 * reconfiguration_cost(8, 8, 10), 8, 10)


def test_hash_positions_go_in_order_to_brokers_in_hash_order() -> None:
    snapshot = generate_snapshot(20, 5, 2, "unif", seed=3)
    positions = hash_positions(snapshot.brokers)
    assert sorted(positions.tolist()) == list(range(20))


def test_a_geometry_of_another_size_or_impossible_weights_are_refused() -> None:
    snapshot = generate_snapshot(4, 5, 2, "unif", seed=3)
    with pytest.raises(CallerError, match="one position for each broker"):
        arrangement_problem(snapshot, key_geometry("chord", 5))
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ProblemError, match="delay weight"):
            arrangement_problem(snapshot, key_geometry("chord", 4), weight)
