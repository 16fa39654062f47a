"""Dull twins of the fast builders, by the book and by networkx, and instances to try."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from meshwright.model.interests import Int32Array, Interests, interests_from_sets

Link = tuple[int, int]
Score = Callable[[list[Link], int, int], int]


def small_interests(broker_most: int = 9, topic_most: int = 5) -> st.SearchStrategy[Interests]:
    """Few brokers and topics; some topics have no, one or two members, some brokers no topic."""
    rows = st.lists(st.frozensets(st.integers(0, topic_most - 1)), min_size=1, max_size=broker_most)
    equal_rows = st.builds(
        lambda row, count: [row] * count,
        st.frozensets(st.integers(0, topic_most - 1)),
        st.integers(1, broker_most),
    )
    return st.builds(lambda sets: interests_from_sets(sets, topic_most), rows | equal_rows)


def random_interests(
    seed: int, broker_count: int = 30, topic_count: int = 8, share: float = 0.4
) -> Interests:
    wants = np.random.default_rng(seed).random((broker_count, topic_count)) < share
    return interests_from_sets([np.flatnonzero(row).tolist() for row in wants], topic_count)


def as_tuples(links: Int32Array) -> list[Link]:
    return [(int(left), int(right)) for left, right in links]


def topic_graph(links: list[Link], interests: Interests, topic: int) -> nx.Graph:
    """The sub-overlay of a topic."""
    graph = nx.Graph()
    graph.add_nodes_from(members_of(interests, topic))
    graph.add_edges_from((left, right) for left, right in links if left in graph and right in graph)
    return graph


def members_of(interests: Interests, topic: int) -> list[int]:
    return [row for row in range(interests.row_count) if topic in interests.of(row)]


def shared_by(interests: Interests, left: int, right: int) -> list[int]:
    return sorted(set(interests.of(left).tolist()) & set(interests.of(right).tolist()))


def connectivity(graph: nx.Graph) -> int:
    """Vertex connectivity; of a clique one less than its vertices."""
    return nx.node_connectivity(graph) if len(graph) > 1 else 0


def holds(links: list[Link], interests: Interests, k: int) -> bool:
    """Whether every topic is k-connected, or a clique if it has at most k members."""
    for topic in range(interests.column_count):
        graph = topic_graph(links, interests, topic)
        if connectivity(graph) < min(k, len(graph) - 1):
            return False
    return True


def joined_components(interests: Interests) -> Score:
    """GM: shared topics in which the pair lies in different components."""

    def score(links: list[Link], left: int, right: int) -> int:
        return sum(
            not nx.has_path(topic_graph(links, interests, topic), left, right)
            for topic in shared_by(interests, left, right)
        )

    return score


def joined_blocks(interests: Interests) -> Score:
    """GM2: shared topics in which no block holds the pair."""

    def score(links: list[Link], left: int, right: int) -> int:
        return sum(
            not any(
                left in block and right in block
                for block in nx.biconnected_components(topic_graph(links, interests, topic))
            )
            for topic in shared_by(interests, left, right)
        )

    return score


def filled_deficits(interests: Interests, k: int) -> Score:
    """Ends still short of min(k, members - 1) links in shared topics; no score once linked."""

    def score(links: list[Link], left: int, right: int) -> int:
        if (left, right) in links:
            return 0
        count = 0
        for topic in shared_by(interests, left, right):
            graph = topic_graph(links, interests, topic)
            wanted = min(k, len(graph) - 1)
            count += (graph.degree(left) < wanted) + (graph.degree(right) < wanted)
        return count

    return score


def step_by_step(broker_count: int, score: Score, tie: str = "pair") -> list[Link]:
    """The greedy of the papers: score every pair anew at every step and add the best."""
    links: list[Link] = []
    while True:
        degree = [sum(broker in link for link in links) for broker in range(broker_count)]
        ranked = []
        for pair in combinations(range(broker_count), 2):
            gain = score(links, *pair)
            if gain > 0:
                ranked.append((_rank(pair, gain, degree, tie), pair))
        if not ranked:
            return links
        links.append(min(ranked)[1])


def _rank(pair: Link, gain: int, degree: list[int], tie: str) -> tuple[int, ...]:
    left, right = pair
    if tie == "degree":
        return (-gain, degree[left] + degree[right])
    if tie == "maximum":
        return (max(*degree, degree[left] + 1, degree[right] + 1), -gain)
    return (-gain,)
