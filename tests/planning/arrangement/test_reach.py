from __future__ import annotations

import arrangement_twin as twin
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.overlays.key_geometries import tree_path
from meshwright.planning.arrangement.kernels.reach import Reach, below, reach_of, swap_within_reach
from meshwright.planning.arrangement.problem import Problem
from meshwright.planning.arrangement.search import new_search

Arranged = tuple[Problem, list[int]]


def reach_from(problem: Problem, positions: list[int]) -> Reach:
    search = new_search(problem, np.array(positions, dtype=np.int32))
    reach: Reach = reach_of(search.tables, search.start)
    return reach


@given(twin.problems())
def test_what_is_below_a_position_follows_it_in_the_order_of_its_tree(problem: Problem) -> None:
    tables = reach_from(problem, list(range(problem.broker_count))).tables
    for tree, root in enumerate(tables.roots.tolist()):
        for top in range(problem.broker_count):
            row = below(tables, tree, top).tolist()
            assert row[0] == top
            assert sorted(row) == [
                position
                for position in range(problem.broker_count)
                if top in tree_path(problem.geometry, root, position)
            ]
            places = {position: place for place, position in enumerate(row)}
            for position in row[1:]:
                assert places[int(tables.parents[tree, position])] < places[position]


@given(twin.arranged_problems())
def test_growths_are_the_positions_that_a_tree_lacks(arranged: Arranged) -> None:
    problem, positions = arranged
    reach = reach_from(problem, positions)
    for topic in range(problem.topic_count):
        inside, root = twin.tree(problem, positions, topic), int(problem.roots[topic])
        for position in range(problem.broker_count):
            way = set(tree_path(problem.geometry, root, position))
            lacking = len(way - inside) + int(position == root)
            assert reach.growths[topic, position] == lacking


@given(twin.arranged_problems(), st.data())
def test_the_reach_after_swaps_is_that_of_where_they_lead(
    arranged: Arranged, draws: st.DataObject
) -> None:
    problem, positions = arranged
    broker = st.integers(0, problem.broker_count - 1)
    reach = reach_from(problem, positions)
    for first, second in draws.draw(st.lists(st.tuples(broker, broker), max_size=8)):
        if first != second:
            swap_within_reach(reach, first, second)
            positions = twin.swapped(positions, first, second)
    expected = reach_from(problem, positions)
    assert reach.seating.positions.tolist() == expected.seating.positions.tolist() == positions
    assert np.array_equal(reach.seating.counts, expected.seating.counts)
    assert np.allclose(reach.seating.relay_costs, expected.seating.relay_costs)
    for kept, fresh in zip(reach[2:], expected[2:], strict=True):
        assert np.array_equal(kept, fresh)
