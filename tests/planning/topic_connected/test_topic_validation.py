"""Validators, pruning, repair and measures against networkx."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_connected_twins import (
    as_tuples,
    connectivity,
    holds,
    random_interests,
    shared_by,
    small_interests,
    topic_graph,
)

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array, Interests, interests_from_sets
from meshwright.planning.topic_connected.circulants import harary
from meshwright.planning.topic_connected.greedy import bare_scores, gm
from meshwright.planning.topic_connected.kernels.membership import membership_of
from meshwright.planning.topic_connected.kernels.repair import joining_links
from meshwright.planning.topic_connected.kernels.scan import count_shared_topics
from meshwright.planning.topic_connected.measures import degrees, topic_diameters
from meshwright.planning.topic_connected.pruning import fewest_topics_first, pruned
from meshwright.planning.topic_connected.validation import (
    failing_topics,
    is_topic_connected,
    k_held,
)


def random_links(broker_count: int, share: float, seed: int) -> Int32Array:
    pairs = np.array(list(combinations(range(broker_count), 2)), dtype=np.int32).reshape(-1, 2)
    return pairs[np.random.default_rng(seed).random(len(pairs)) < share]


@given(small_interests(), st.sampled_from([0.3, 0.6, 0.8, 1.0]), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_k_held_is_the_vertex_connectivity(interests: Interests, share: float, seed: int) -> None:
    links = random_links(interests.row_count, share, seed)
    for k in (1, 2, 3, 5):
        graphs = [topic_graph(as_tuples(links), interests, t) for t in range(5)]
        expected = [min(k, connectivity(graph)) for graph in graphs]
        wanted = [max(0, min(k, len(graph) - 1)) for graph in graphs]
        failing = [t for t in range(5) if expected[t] < wanted[t]]
        assert k_held(links, interests, k).tolist() == expected
        assert failing_topics(links, interests, k).tolist() == failing
        assert is_topic_connected(links, interests, k) == (not failing)


@pytest.mark.parametrize("seed", range(12))
def test_k_held_finds_cuts_in_larger_topics(seed: int) -> None:
    interests = interests_from_sets([[0]] * 40, 1)
    graph = nx.random_regular_graph(4, 20, seed=seed)
    twin = nx.disjoint_union(graph, nx.random_regular_graph(4, 20, seed=seed + 50))
    for bridge in range(seed % 5):
        twin.add_edge(bridge, 20 + bridge)
    links = np.array(sorted(tuple(sorted(edge)) for edge in twin.edges), dtype=np.int32)
    assert k_held(links, interests, 6).tolist() == [nx.node_connectivity(twin)]


def test_loops_and_repeated_links_count_for_nothing() -> None:
    interests = interests_from_sets([[0]] * 3, 1)
    links = np.array([[0, 1], [1, 0], [1, 1], [2, 1]], dtype=np.int32)
    assert k_held(links, interests, 2).tolist() == [1]
    assert topic_diameters(links, interests).tolist() == [2]


def test_impossible_questions_are_refused() -> None:
    interests = random_interests(0)
    with pytest.raises(CallerError, match="k is 0"):
        k_held(gm(interests), interests, 0)
    with pytest.raises(CallerError, match="not among the 30"):
        k_held(np.array([[0, 30]], dtype=np.int32), interests, 1)


@given(small_interests(), st.integers(1, 3), st.sampled_from([0.7, 1.0]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_pruning_drops_what_the_dull_twin_drops(
    interests: Interests, k: int, share: float, seed: int
) -> None:
    links = random_links(interests.row_count, share, seed)
    if not holds(as_tuples(links), interests, k):
        links = random_links(interests.row_count, 1.0, seed)
    kept = as_tuples(links)
    for index in fewest_topics_first(membership_of(interests), links).tolist():
        rest = [link for link in kept if link != as_tuples(links)[index]]
        if holds(rest, interests, k):
            kept = rest
    assert as_tuples(pruned(links, interests, k)) == kept


@given(small_interests(), st.sampled_from([0.3, 0.6, 0.9]), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_pruning_never_lowers_what_a_topic_holds(
    interests: Interests, share: float, seed: int
) -> None:
    links = random_links(interests.row_count, share, seed)
    before = k_held(links, interests, 3)
    assert k_held(pruned(links, interests, 3), interests, 3).tolist() == before.tolist()


def test_links_of_fewest_shared_topics_are_tried_first() -> None:
    interests = random_interests(4, broker_count=12)
    links = random_links(12, 0.5, 4)
    order = fewest_topics_first(membership_of(interests), links)
    shared = [len(shared_by(interests, *as_tuples(links)[i])) for i in order.tolist()]
    assert shared == sorted(shared)
    assert sorted(order.tolist()) == list(range(len(links)))


@given(small_interests(), st.integers(1, 4), st.sampled_from([0.0, 0.3, 0.7]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_repair_joins_only_cuts_and_leaves_none(
    interests: Interests, k: int, share: float, seed: int
) -> None:
    links = random_links(interests.row_count, share, seed)
    shared = bare_scores(interests)
    count_shared_topics(membership_of(interests), shared, 1)
    topics = np.arange(interests.column_count, dtype=np.int64)
    added = as_tuples(joining_links(membership_of(interests), links, shared, topics, k))
    standing = as_tuples(links)
    for left, right in added:
        assert left < right
        assert (left, right) not in standing
        local = [
            nx.node_connectivity(topic_graph(standing, interests, topic), left, right)
            for topic in shared_by(interests, left, right)
        ]
        assert min(local) < k
        standing.append((left, right))
    assert holds(standing, interests, k)


@given(small_interests(), st.sampled_from([0.2, 0.5, 0.8]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_topic_diameters_are_those_of_networkx(
    interests: Interests, share: float, seed: int
) -> None:
    links = random_links(interests.row_count, share, seed)
    expected = []
    for topic in range(interests.column_count):
        graph = topic_graph(as_tuples(links), interests, topic)
        joined = len(graph) == 0 or nx.is_connected(graph)
        expected.append(nx.diameter(graph) if len(graph) and joined else joined - 1)
    assert topic_diameters(links, interests).tolist() == expected


def test_topic_diameters_of_more_members_than_a_word_has_bits() -> None:
    interests = interests_from_sets([[0]] * 150, 1)
    assert topic_diameters(harary(interests, k=2), interests).tolist() == [75]


def test_degrees_count_links() -> None:
    links = np.array([[0, 1], [1, 3]], dtype=np.int32)
    assert degrees(links, 5).tolist() == [1, 2, 0, 1, 0]
