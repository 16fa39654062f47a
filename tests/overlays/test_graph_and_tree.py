"""Explicit graphs and trees, with networkx as the judge."""

from __future__ import annotations

from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import CallerError, ProblemError
from meshwright.overlays import graph as graphs
from meshwright.overlays import tree as trees
from meshwright.overlays.graph import graph
from meshwright.overlays.graph_matrices import hop_matrix, next_hop_matrix
from meshwright.overlays.tree import regular_tree, tree


@st.composite
def broker_counts_and_links(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 12))
    pairs = list(combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    flips = draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    return count, [(b, a) if f else (a, b) for (a, b), f in zip(chosen, flips, strict=True)]


@st.composite
def broker_counts_and_trees(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 14))
    names = draw(st.permutations(range(count)))
    return count, [
        (names[child], names[draw(st.integers(0, child - 1))]) for child in range(1, count)
    ]


def oracle(count: int, links: list[tuple[int, int]]) -> nx.Graph:
    joined = nx.Graph()
    joined.add_nodes_from(range(count))
    joined.add_edges_from(links)
    return joined


def as_array(links: list[tuple[int, int]]) -> np.ndarray:
    return np.array(links, dtype=np.int32).reshape(-1, 2)


@settings(max_examples=60, deadline=None)
@given(broker_counts_and_links())
def test_a_graph_knows_neighbours_links_and_components(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    count, links = case
    joined, judge = graph(count, as_array(links)), oracle(count, links)
    assert [joined.of(b).tolist() for b in range(count)] == [sorted(judge[b]) for b in range(count)]
    assert graphs.links(joined).tolist() == sorted([min(p), max(p)] for p in links)
    labels = graphs.components(joined).tolist()
    expected = sorted(nx.connected_components(judge), key=min)
    assert [{b for b in range(count) if labels[b] == n} for n in range(max(labels) + 1)] == expected
    assert graphs.is_connected(joined) == nx.is_connected(judge)


@settings(max_examples=60, deadline=None)
@given(broker_counts_and_links())
def test_routes_of_a_graph_are_shortest_paths_over_lowest_neighbours(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    count, links = case
    joined, judge = graph(count, as_array(links)), oracle(count, links)
    hops, next_hops = hop_matrix(joined), next_hop_matrix(joined)
    for source in range(count):
        assert graphs.hops_from(joined, source).tolist() == hops[source].tolist()
        for target in range(count):
            way = graphs.path(joined, source, target)
            following = graphs.next_hop(joined, source, target)
            assert next_hops[source, target] == (-1 if following is None else following)
            if way is None:
                assert not nx.has_path(judge, source, target)
                assert hops[source, target] == -1
            else:
                assert hops[source, target] == len(way) - 1
                assert way == min(nx.all_shortest_paths(judge, source, target))


@settings(max_examples=60, deadline=None)
@given(broker_counts_and_trees(), st.data())
def test_a_tree_has_the_only_path_and_the_smallest_subtree(
    case: tuple[int, list[tuple[int, int]]], data: st.DataObject
) -> None:
    count, links = case
    root = data.draw(st.integers(0, count - 1))
    hung, judge = tree(count, as_array(links), root=root), oracle(count, links)
    assert hung.depths.tolist() == [nx.shortest_path_length(judge, root, b) for b in range(count)]
    assert sorted(hung.order.tolist()) == list(range(count))
    assert all(a <= b for a, b in pairwise(hung.depths[hung.order].tolist()))
    next_hops = next_hop_matrix(hung.joined)
    for source in range(count):
        for target in range(count):
            way = nx.shortest_path(judge, source, target)
            assert trees.path(hung, source, target) == way
            assert trees.next_hop(hung, source, target) == next_hops[source, target]
    members = data.draw(st.sets(st.integers(0, count - 1)))
    wanted = np.isin(np.arange(count), sorted(members))
    chosen = np.flatnonzero(trees.steiner_brokers(hung, wanted)).tolist()
    between = {b for one in members for b in nx.shortest_path(judge, min(members), one)}
    assert chosen == sorted(between)


@settings(max_examples=40, deadline=None)
@given(broker_counts_and_trees(), st.integers(0, 2**32 - 1))
def test_subtree_sums_count_a_broker_and_all_below_it(
    case: tuple[int, list[tuple[int, int]]], seed: int
) -> None:
    count, links = case
    hung = tree(count, as_array(links))
    values = np.random.default_rng(seed).integers(-5, 9, (count, 3))
    above = [trees.path(hung, broker, 0) for broker in range(count)]
    expected = [
        values[[b for b in range(count) if broker in above[b]]].sum(axis=0).tolist()
        for broker in range(count)
    ]
    assert trees.subtree_sums(hung, values).tolist() == expected


def test_many_member_sets_are_spanned_at_once() -> None:
    hung = regular_tree(40, 3)
    members = np.random.default_rng(1).random((40, 25)) < 0.1
    together = trees.steiner_brokers(hung, members)
    alone = [trees.steiner_brokers(hung, members[:, column]) for column in range(25)]
    assert np.array_equal(together, np.stack(alone, axis=1))


def test_the_regular_tree_of_85_brokers_has_64_leaves_in_four_levels() -> None:
    hung = regular_tree(85)
    degrees = hung.joined.degrees()
    assert np.flatnonzero(degrees == 1).tolist() == list(range(21, 85))
    assert np.bincount(hung.depths).tolist() == [1, 4, 16, 64]
    assert trees.path(hung, 21, 84) == [21, 5, 1, 0, 4, 20, 84]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 100, 1200])
def test_a_regular_tree_has_any_number_of_brokers(count: int) -> None:
    hung = regular_tree(count)
    assert hung.broker_count == count
    assert hung.joined.degrees().max(initial=0) <= 5


def test_links_that_are_no_graph_or_no_tree_are_refused_with_the_reason() -> None:
    for wrong, words in (
        ([(0, 3)], "outside 0 to 2"),
        ([(1, 1)], "itself"),
        ([(0, 1)] * 2, "twic"),
    ):
        with pytest.raises(CallerError, match=words):
            graph(3, as_array(wrong))
    with pytest.raises(ProblemError, match="no way from broker 0 to broker 2"):
        tree(3, as_array([(0, 1)]))
    with pytest.raises(ProblemError, match="close a cycle"):
        tree(3, as_array([(0, 1), (1, 2), (2, 0)]))
    with pytest.raises(CallerError, match="root"):
        tree(3, as_array([(0, 1), (1, 2)]), root=3)
    with pytest.raises(ProblemError):
        regular_tree(0)
