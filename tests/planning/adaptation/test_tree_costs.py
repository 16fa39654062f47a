from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_trees import demands, plain_cost, plain_local_classes, plain_subtree, tariffs, trees

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import interests_from_sets
from meshwright.planning.adaptation.cost import broker_level, tree_cost, tree_figures
from meshwright.planning.adaptation.neighbourhood import local_classes, rewired
from meshwright.planning.adaptation.values import (
    DispatchTree,
    Traffic,
    TreeCosts,
    tree_from_links,
)


@settings(max_examples=120)
@given(st.data())
def test_the_cost_is_that_of_pruned_subtrees(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic, costs = data.draw(demands(tree)), data.draw(tariffs(tree))
    names = list(range(tree.vertex_count))
    expected = plain_cost(tree.parents.tolist(), tree.broker_count, traffic, costs, names)
    assert tree_cost(tree, traffic, costs) == expected


@settings(max_examples=120)
@given(st.data())
def test_a_master_sees_messages_by_the_links_they_use(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic = data.draw(demands(tree))
    master = data.draw(st.integers(0, tree.broker_count - 1))
    seen = local_classes(tree, traffic, master)
    merged = {
        frozenset(seen.vertices[seen.traffic.classes.of(row)].tolist()): messages
        for row, messages in enumerate(seen.traffic.messages.tolist())
    }
    assert len(merged) == seen.traffic.classes.row_count
    assert merged == plain_local_classes(tree, traffic, master)
    graph = _graph(tree)
    assert seen.vertices.tolist() == [master, *sorted(graph[master])]
    assert seen.broker_count == sum(vertex < tree.broker_count for vertex in seen.vertices)


@settings(max_examples=200)
@given(st.data())
def test_local_gain_is_global_gain(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic, costs = data.draw(demands(tree)), data.draw(tariffs(tree))
    seen, local = _any_local_tree(data, tree, traffic)
    prices = costs.prices(tree)
    after = rewired(tree, seen, local)
    local_gain = seen.cost(seen.star(), prices) - seen.cost(local, prices)
    assert local_gain == tree_cost(tree, traffic, costs) - tree_cost(after, traffic, costs)


@settings(max_examples=100)
@given(st.data())
def test_a_change_is_seen_only_in_its_neighbourhood(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic = data.draw(demands(tree))
    seen, local = _any_local_tree(data, tree, traffic)
    after = rewired(tree, seen, local)
    assert nx.is_tree(_graph(after))
    outside = set(range(tree.broker_count)) - set(seen.vertices.tolist())
    for broker in sorted(outside):
        old, new = (local_classes(each, traffic, broker) for each in (tree, after))
        assert old.vertices.tolist() == new.vertices.tolist()
        assert old.traffic.classes.columns.tolist() == new.traffic.classes.columns.tolist()
        assert old.traffic.messages.tolist() == new.traffic.messages.tolist()


@settings(max_examples=100)
@given(st.data())
def test_relays_and_hops_are_those_of_paths(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic = data.draw(demands(tree))
    graph = _graph(tree).subgraph(range(tree.broker_count))
    hosts = tree.hosts().tolist()
    relayed, hops = 0, 0.0
    for row, messages in enumerate(traffic.messages.tolist()):
        brokers = sorted({hosts[member] for member in traffic.classes.of(row).tolist()})
        subtree = plain_subtree(tree.parents[: tree.broker_count].tolist(), brokers)
        relayed += messages * (len(subtree) - len(brokers))
        pairs = permutations(brokers, 2)
        hops += messages * sum(nx.shortest_path_length(graph, *p) for p in pairs) / len(brokers)
    figures = tree_figures(tree, traffic)
    assert figures.messages_external == relayed
    assert figures.delay_hops == pytest.approx(hops)


@settings(max_examples=60)
@given(st.data())
def test_without_clients_that_move_brokers_stand_for_them(data: st.DataObject) -> None:
    tree = data.draw(trees())
    traffic = data.draw(demands(tree))
    brokers, demand = broker_level(tree, traffic)
    seen, local = _any_local_tree(data, brokers, demand)
    after = rewired(brokers, seen, local)
    joined = DispatchTree(
        tree.broker_count,
        np.concatenate((after.parents, tree.parents[tree.broker_count :])),
    )
    local_gain = tree_cost(brokers, demand) - tree_cost(after, demand)
    assert local_gain == tree_cost(tree, traffic) - tree_cost(joined, traffic)


def test_one_member_costs_nothing_and_two_clients_of_a_broker_meet_there() -> None:
    tree = tree_from_links(2, [(0, 1)], [1, 1])
    traffic = Traffic(interests_from_sets([[0], [2, 3]], 4), np.array([5, 7], dtype=np.int64))
    assert tree_cost(tree, traffic) == 7 * (2 + 1)
    assert tree_figures(tree, traffic).messages_external == 0


def test_large_counts_stay_exact_or_are_refused() -> None:
    tree = tree_from_links(2, [(0, 1)])
    exact = Traffic(interests_from_sets([[0, 1]], 2), np.array([2**59], dtype=np.int64))
    assert tree_cost(tree, exact) == 3 * 2**59
    too_many = Traffic(interests_from_sets([[0, 1]], 2), np.array([2**61], dtype=np.int64))
    with pytest.raises(ProblemError, match="larger units"):
        tree_cost(tree, too_many)


def test_links_that_make_no_tree_are_refused() -> None:
    with pytest.raises(ProblemError, match="exactly 2"):
        tree_from_links(3, list(combinations(range(3), 2)))
    with pytest.raises(ProblemError, match="broker number 3 apart"):
        tree_from_links(4, [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(ProblemError, match="at least one"):
        tree_from_links(0, [])


def test_values_that_do_not_fit_each_other_are_refused() -> None:
    tree = tree_from_links(2, [(0, 1)])
    traffic = Traffic(interests_from_sets([[0, 1]], 2), np.array([1], dtype=np.int64))
    square = np.array([[0, 1], [2, 0]], dtype=np.int64)
    with pytest.raises(CallerError, match="vertices"):
        tree_cost(tree_from_links(1, []), traffic)
    with pytest.raises(CallerError, match="not a broker"):
        local_classes(tree, traffic, 2)
    with pytest.raises(CallerError, match="number"):
        Traffic(traffic.classes, np.array([1, 2], dtype=np.int64))
    with pytest.raises(CallerError, match="other brokers"):
        tree_cost(tree, traffic, TreeCosts(brokers=np.ones(3, dtype=np.int64)))
    with pytest.raises(CallerError, match="other links"):
        tree_cost(tree, traffic, TreeCosts(links=np.ones((3, 3), dtype=np.int64)))
    with pytest.raises(ProblemError, match="both directions"):
        TreeCosts(links=square)
    with pytest.raises(ProblemError, match="0 or more"):
        TreeCosts(link_weight=-1)
    with pytest.raises(ProblemError, match="cost of a broker"):
        TreeCosts(brokers=np.array([-1], dtype=np.int64))


def _any_local_tree(data: st.DataObject, tree: DispatchTree, traffic: Traffic):
    """A master's view and any tree over it, rooted at the master."""
    seen = local_classes(tree, traffic, data.draw(st.integers(0, tree.broker_count - 1)))
    brokers = seen.broker_count
    order = [0, *data.draw(st.permutations(range(1, brokers)))]
    local = np.zeros(len(seen.vertices), dtype=np.int32)
    for place in range(1, brokers):
        local[order[place]] = order[data.draw(st.integers(0, place - 1))]
    for client in range(brokers, len(local)):
        local[client] = data.draw(st.integers(0, brokers - 1))
    return seen, local


def _graph(tree: DispatchTree) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(tree.vertex_count))
    graph.add_edges_from((low, up) for low, up in enumerate(tree.parents.tolist()) if low != up)
    return graph
