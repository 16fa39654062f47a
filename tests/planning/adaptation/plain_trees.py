"""Tree adaptation in plain Python: sets, dictionaries and pruning, to check the kernels against."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from meshwright.model.interests import interests_from_sets
from meshwright.planning.adaptation.values import (
    DispatchTree,
    Traffic,
    TreeCosts,
    tree_from_links,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from meshwright.planning.adaptation.search import SearchRules

Parents = list[int]


@st.composite
def trees(draw: st.DrawFn, *, brokers_max: int = 9, clients_max: int = 5) -> DispatchTree:
    count = draw(st.integers(1, brokers_max))
    ups = [draw(st.integers(0, number - 1)) for number in range(1, count)]
    order = draw(st.permutations(range(count)))
    links = [(order[low], order[up]) for low, up in enumerate(ups, start=1)]
    hosts = draw(st.lists(st.integers(0, count - 1), max_size=clients_max))
    return tree_from_links(count, links, hosts)


@st.composite
def demands(draw: st.DrawFn, tree: DispatchTree, *, classes_max: int = 8) -> Traffic:
    sets = st.sets(st.integers(0, tree.vertex_count - 1), min_size=1, max_size=5)
    rows = draw(st.lists(sets, max_size=classes_max))
    counts = draw(st.lists(st.integers(0, 50), min_size=len(rows), max_size=len(rows)))
    return Traffic(interests_from_sets(rows, tree.vertex_count), np.array(counts, dtype=np.int64))


@st.composite
def tariffs(draw: st.DrawFn, tree: DispatchTree) -> TreeCosts:
    if draw(st.booleans()):
        return TreeCosts(draw(st.integers(0, 3)), draw(st.integers(0, 3)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    links = rng.integers(0, 9, size=(tree.vertex_count, tree.broker_count))
    square = links[: tree.broker_count]
    links[: tree.broker_count] = square + square.T
    brokers = rng.integers(0, 9, size=tree.broker_count)
    return TreeCosts(draw(st.integers(0, 3)), draw(st.integers(0, 3)), links, brokers)


def plain_subtree(parents: Parents, members: list[int]) -> nx.Graph:
    """The minimal subtree: leaves that are no members are cut off until none is left."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((low, up) for low, up in enumerate(parents) if low != up)
    while True:
        loose = [v for v in graph if graph.degree(v) <= 1 and v not in members]
        if not loose:
            return graph
        graph.remove_nodes_from(loose)


def plain_cost(
    parents: Parents, broker_count: int, traffic: Traffic, costs: TreeCosts, names: list[int]
) -> int:
    """Equation 1; names are the rows of the cost arrays for each vertex."""
    total = 0
    for row, messages in enumerate(traffic.messages.tolist()):
        members = traffic.classes.of(row).tolist()
        if len(members) < 2:
            continue
        subtree = plain_subtree(parents, members)
        links = sum(_link_cost(costs, names, *sorted(link)) for link in subtree.edges)
        brokers = sum(
            1 if costs.brokers is None else int(costs.brokers[names[vertex]])
            for vertex in subtree
            if vertex < broker_count
        )
        total += messages * (costs.link_weight * links + costs.broker_weight * brokers)
    return total


def plain_local_classes(
    tree: DispatchTree, traffic: Traffic, master: int
) -> dict[frozenset[int], int]:
    """Messages by the set of local vertices they use, from paths in a graph."""
    graph = nx.Graph()
    graph.add_node(master)
    graph.add_edges_from((low, up) for low, up in enumerate(tree.parents.tolist()) if low != up)
    paths = nx.single_source_shortest_path(graph, master)
    found: dict[frozenset[int], int] = {}
    for row, messages in enumerate(traffic.messages.tolist()):
        ends = frozenset(
            paths[member][min(1, len(paths[member]) - 1)]
            for member in traffic.classes.of(row).tolist()
        )
        if len(ends) >= 2:
            found[ends] = found.get(ends, 0) + messages
    return found


def plain_trees(broker_count: int, client_count: int) -> Iterator[Parents]:
    """Parents of every tree over brokers with clients as leaves, rooted at 0."""
    for code in product(range(broker_count), repeat=max(broker_count - 2, 0)):
        graph = nx.empty_graph(1) if broker_count == 1 else nx.from_prufer_sequence(list(code))
        ups = dict(nx.bfs_predecessors(graph, 0))
        brokers = [ups.get(broker, 0) for broker in range(broker_count)]
        for hosts in product(range(broker_count), repeat=client_count):
            yield brokers + list(hosts)


class PlainTabu:
    """The tabu search on a set of links, where every tree is costed from scratch."""

    def __init__(self, traffic: Traffic, costs: TreeCosts, names: list[int], rooms: list[int]):
        self.traffic, self.costs, self.names, self.rooms = traffic, costs, names, rooms
        self.links = {(0, vertex) for vertex in range(1, len(names))}
        self.added: list[tuple[int, int] | None] = []
        self.removed: list[tuple[int, int] | None] = []

    def search(self, rules: SearchRules, draws: list[list[int]]) -> Parents:
        best, best_cost = self.parents(self.links), self.cost(self.links)
        for iteration in range(rules.iterations):
            move = self._best_move(self._candidates(rules, draws[iteration]), rules.tenure)
            self.added.append(move and move[0])
            self.removed.append(move and move[1])
            if move is None:
                continue
            self.links = self.links - {move[1]} | {move[0]}
            cost = self.cost(self.links)
            if cost < best_cost:
                best, best_cost = self.parents(self.links), cost
        return best

    def parents(self, links: set[tuple[int, int]]) -> Parents:
        ups = dict(nx.bfs_predecessors(nx.Graph(sorted(links)), 0)) if links else {}
        return [ups.get(vertex, 0) for vertex in range(len(self.names))]

    def cost(self, links: set[tuple[int, int]]) -> int:
        brokers = len(self.rooms)
        return plain_cost(self.parents(links), brokers, self.traffic, self.costs, self.names)

    def _candidates(self, rules: SearchRules, draws: list[int]) -> list[tuple[int, int]]:
        brokers, vertices = len(self.rooms), len(self.names)
        pairs = [(low, high) for low in range(brokers) for high in range(low + 1, vertices)]
        absent = [pair for pair in pairs if pair not in self.links]
        if len(absent) <= rules.moves_max:
            return absent
        chosen: list[tuple[int, int]] = []
        for draw in draws:
            low, high = sorted((draw % brokers, draw // brokers % vertices))
            if (low, high) in absent and (low, high) not in chosen:
                chosen.append((low, high))
            if len(chosen) == rules.moves_max:
                break
        return chosen

    def _best_move(
        self, pairs: list[tuple[int, int]], tenure: int
    ) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Cheapest (link added, link removed), neither undone from the last iterations."""
        added, removed = self.added[-tenure:], self.removed[-tenure:]
        best, best_cost = None, None
        for pair in pairs:
            if pair in removed:
                continue
            for link in self._cycle(pair):
                changed = self.links - {link} | {pair}
                if link in added or not self._has_room(changed):
                    continue
                cost = self.cost(changed)
                if best_cost is None or cost < best_cost:
                    best, best_cost = (pair, link), cost
        return best

    def _cycle(self, pair: tuple[int, int]) -> list[tuple[int, int]]:
        """Links that may go: from the lower end up, then from the higher end up."""
        low, high = pair
        parents = self.parents(self.links)
        if high >= len(self.rooms):
            return [(parents[high], high)]
        low_way, high_way = _way_up(parents, low), _way_up(parents, high)
        common = set(low_way) & set(high_way)
        ends = [v for v in low_way if v not in common] + [v for v in high_way if v not in common]
        return [(min(v, parents[v]), max(v, parents[v])) for v in ends]

    def _has_room(self, links: set[tuple[int, int]]) -> bool:
        degrees = [0] * len(self.rooms)
        for low, high in links:
            if high < len(self.rooms):
                degrees[low] += 1
                degrees[high] += 1
        return all(degree <= room for degree, room in zip(degrees, self.rooms, strict=True))


def _way_up(parents: Parents, vertex: int) -> list[int]:
    way = [vertex]
    while parents[way[-1]] != way[-1]:
        way.append(parents[way[-1]])
    return way


def _link_cost(costs: TreeCosts, names: list[int], low: int, high: int) -> int:
    return 1 if costs.links is None else int(costs.links[names[high], names[low]])
