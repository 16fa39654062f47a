from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_trees import PlainTabu, demands, plain_cost, plain_trees, tariffs, trees

from meshwright.errors import ProblemError
from meshwright.model.interests import interests_from_sets
from meshwright.planning.adaptation.cost import tree_cost
from meshwright.planning.adaptation.kernels.exhaustive import write_tree
from meshwright.planning.adaptation.kernels.tabu import Limits, tabu_search
from meshwright.planning.adaptation.neighbourhood import Neighbourhood, local_classes
from meshwright.planning.adaptation.search import (
    SearchRules,
    best_local_tree,
    optimal_tree,
    tree_count,
)
from meshwright.planning.adaptation.values import Traffic, TreeCosts, tree_from_links


@pytest.mark.parametrize("broker_count", range(1, 7))
def test_prufer_codes_give_every_tree_once(broker_count: int) -> None:
    found = set()
    for code in range(broker_count ** max(broker_count - 2, 0)):
        parents = np.zeros(broker_count, dtype=np.int32)
        write_tree(code, broker_count, parents)
        links = frozenset(
            (min(low, up), max(low, up)) for low, up in enumerate(parents.tolist()) if low != up
        )
        assert len(links) == broker_count - 1
        assert parents[0] == 0
        found.add(links)
    assert len(found) == tree_count(broker_count)


@pytest.mark.parametrize(
    ("broker_count", "client_count"), [(1, 2), (2, 0), (2, 3), (3, 0), (3, 2), (4, 0), (4, 1)]
)
def test_the_count_of_valid_trees_is_that_of_all_link_sets(
    broker_count: int, client_count: int
) -> None:
    vertex_count = broker_count + client_count
    pairs = [(low, high) for low in range(broker_count) for high in range(low + 1, vertex_count)]
    valid = 0
    for links in combinations(pairs, vertex_count - 1):
        graph = nx.empty_graph(vertex_count)
        graph.add_edges_from(links)
        leaves = all(graph.degree(client) == 1 for client in range(broker_count, vertex_count))
        valid += leaves and nx.is_connected(graph)
    assert tree_count(broker_count, client_count) == valid


def test_neighbours_and_their_master_have_more_trees_than_the_paper_counts() -> None:
    neighbours = 5
    assert tree_count(neighbours + 1) == (neighbours + 1) ** (neighbours - 1)


@settings(max_examples=60)
@given(st.data())
def test_exhaustive_search_finds_the_optimum(data: st.DataObject) -> None:
    tree = data.draw(trees(brokers_max=4, clients_max=2))
    traffic, costs = data.draw(demands(tree)), data.draw(tariffs(tree))
    best = optimal_tree(tree, traffic, costs, move_clients=True)
    clients = tree.vertex_count - tree.broker_count
    names = list(range(tree.vertex_count))
    least = min(
        plain_cost(parents, tree.broker_count, traffic, costs, names)
        for parents in plain_trees(tree.broker_count, clients)
    )
    assert tree_cost(best, traffic, costs) == least
    if tree_cost(tree, traffic, costs) == least:
        assert best.parents.tolist() == tree.parents.tolist()


@settings(max_examples=60)
@given(st.data())
def test_clients_stay_where_they_are_unless_they_may_move(data: st.DataObject) -> None:
    tree = data.draw(trees(brokers_max=4, clients_max=3))
    traffic = data.draw(demands(tree))
    fixed = optimal_tree(tree, traffic)
    assert fixed.hosts().tolist() == tree.hosts().tolist()
    free = optimal_tree(tree, traffic, move_clients=True)
    costs = [tree_cost(each, traffic) for each in (free, fixed, tree)]
    assert costs == sorted(costs)


@settings(max_examples=40)
@given(st.data())
def test_tabu_search_takes_the_moves_of_its_plain_twin(data: st.DataObject) -> None:
    seen, costs, prices = _star(data)
    rules = SearchRules(
        iterations=6, moves_max=data.draw(st.sampled_from([2, 50])), tenure=2, degree_max=3
    )
    rooms = seen.rooms(data.draw(st.sampled_from([None, 3])))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    draws = rng.integers(2**62, size=(rules.iterations, 4 * rules.moves_max))
    limits = Limits(rooms, rules.iterations, rules.moves_max, rules.tenure)
    found = tabu_search(seen.traffic.arrays(), seen.prices(prices), limits, draws)
    twin = PlainTabu(seen.traffic, costs, seen.vertices.tolist(), rooms.tolist())
    assert found.tolist() == twin.search(rules, draws.tolist())


@settings(max_examples=60)
@given(st.data())
def test_a_search_is_never_worse_than_the_star_and_keeps_clients_leaves(
    data: st.DataObject,
) -> None:
    seen, _, prices = _star(data)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    exhaustive = SearchRules(exhaustive_trees_max=10**5, degree_max=data.draw(_degrees))
    tabu = replace(exhaustive, exhaustive_trees_max=0, iterations=8)
    found = [best_local_tree(seen, prices, rules, rng)[0] for rules in (exhaustive, tabu)]
    costs = [seen.cost(parents, prices) for parents in (*found, seen.star())]
    assert costs == sorted(costs)
    for parents in found:
        assert bool(np.all(parents < seen.broker_count))


@settings(max_examples=60)
@given(st.data())
def test_both_searches_leave_each_broker_within_its_room(data: st.DataObject) -> None:
    seen, _, prices = _star(data)
    degree_max = data.draw(st.integers(2, 4))
    for trees_max in (0, 10**5):
        rules = SearchRules(iterations=8, exhaustive_trees_max=trees_max, degree_max=degree_max)
        parents, _ = best_local_tree(seen, prices, rules, np.random.default_rng(0))
        brokers = seen.broker_count
        degrees = np.bincount(parents[1:brokers], minlength=brokers)
        degrees[1:] += 1
        assert bool(np.all(degrees <= seen.rooms(degree_max)))


def test_too_many_trees_are_refused() -> None:
    tree = tree_from_links(9, [(0, number) for number in range(1, 9)])
    nothing = Traffic(interests_from_sets([], 9), np.empty(0, dtype=np.int64))
    with pytest.raises(ProblemError, match="step by step"):
        optimal_tree(tree, nothing)


@pytest.mark.parametrize("name", ["iterations", "moves_max", "tenure", "draws_per_move"])
def test_search_rules_must_leave_something_to_do(name: str) -> None:
    with pytest.raises(ProblemError, match=name):
        SearchRules(**{name: 0})


def test_a_degree_of_one_joins_nobody() -> None:
    with pytest.raises(ProblemError, match="degree_max"):
        SearchRules(degree_max=1)


_degrees = st.none() | st.integers(2, 4)


def _star(data: st.DataObject) -> tuple[Neighbourhood, TreeCosts, object]:
    """The view of the centre of a star, some of whose brokers have a neighbour outside."""
    brokers, clients = data.draw(st.integers(2, 5)), data.draw(st.integers(0, 2))
    links = [(0, number) for number in range(1, brokers)] + [(1, brokers)]
    tree = tree_from_links(brokers + 1, links, [0] * clients)
    traffic, costs = data.draw(demands(tree)), data.draw(tariffs(tree))
    return local_classes(tree, traffic, 0), costs, costs.prices(tree)
