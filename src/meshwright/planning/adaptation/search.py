"""The best tree over a neighbourhood: exhaustive where it is small, tabu search elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import Int32Array
from meshwright.planning.adaptation.cost import broker_level
from meshwright.planning.adaptation.kernels.exhaustive import best_of_all_trees
from meshwright.planning.adaptation.kernels.subtrees import PriceArrays
from meshwright.planning.adaptation.kernels.tabu import Limits, tabu_search
from meshwright.planning.adaptation.neighbourhood import Neighbourhood
from meshwright.planning.adaptation.values import (
    DispatchTree,
    Traffic,
    TreeCosts,
    check_demand,
)

# Eight brokers have this many trees.
OPTIMUM_TREES_MAX = 8**6


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Effort of a local search.

    iterations: n of the paper. moves_max: N, links tried in an iteration. tenure: iterations for
    which a link added or removed stays so. draws_per_move: random draws for each link tried, at
    most. exhaustive_trees_max: try all trees where there are no more than this. degree_max: links
    to other brokers that a broker may come to have; without it equal costs make a star of any tree.
    """

    iterations: int = 50
    moves_max: int = 50
    tenure: int = 7
    draws_per_move: int = 4
    exhaustive_trees_max: int = 2000
    degree_max: int | None = None

    def __post_init__(self) -> None:
        for name in ("iterations", "moves_max", "tenure", "draws_per_move"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{name} is {getattr(self, name)}; choose 1 or more.")
        if self.degree_max is not None and self.degree_max < 2:
            raise ProblemError(f"degree_max is {self.degree_max}; choose 2 or more.")


def tree_count(broker_count: int, client_count: int = 0) -> int:
    """Labelled trees over brokers with each client a leaf of one: b^(b-2) * b^c."""
    if broker_count == 1:
        return 1
    return int(broker_count ** (broker_count - 2 + client_count))


def best_local_tree(
    neighbourhood: Neighbourhood,
    prices: PriceArrays,
    rules: SearchRules,
    rng: np.random.Generator,
) -> tuple[Int32Array, str]:
    """Parents of the best local tree found, the star if none is better, and by which algorithm.

    prices are those of the whole tree. Chance is used only by the tabu search of a large
    neighbourhood.
    """
    broker_count = neighbourhood.broker_count
    client_count = neighbourhood.degree + 1 - broker_count
    classes = neighbourhood.traffic.arrays()
    local_prices = neighbourhood.prices(prices)
    rooms = neighbourhood.rooms(rules.degree_max)
    if tree_count(broker_count, client_count) <= rules.exhaustive_trees_max:
        star = neighbourhood.star()
        return best_of_all_trees(classes, local_prices, star, rooms), "ocbr-exhaustive"
    limits = Limits(rooms, rules.iterations, rules.moves_max, rules.tenure)
    draws = rng.integers(2**62, size=(rules.iterations, rules.draws_per_move * rules.moves_max))
    return tabu_search(classes, local_prices, limits, draws), "ocbr-tabu"


def optimal_tree(
    tree: DispatchTree,
    traffic: Traffic,
    costs: TreeCosts | None = None,
    *,
    move_clients: bool = False,
) -> DispatchTree:
    """A cheapest tree of all; the given one if nothing is cheaper. For a few brokers only."""
    costs = costs or TreeCosts()
    check_demand(tree, traffic, costs)
    whole, demand = (tree, traffic) if move_clients else broker_level(tree, traffic)
    count = tree_count(whole.broker_count, whole.vertex_count - whole.broker_count)
    if count > OPTIMUM_TREES_MAX:
        raise ProblemError(
            f"There are {count} trees to compare, more than {OPTIMUM_TREES_MAX}; "
            "adapt the tree step by step instead."
        )
    rooms = np.full(whole.broker_count, whole.broker_count, dtype=np.int32)
    parents = best_of_all_trees(demand.arrays(), costs.prices(whole), whole.parents, rooms)
    return with_brokers(tree, DispatchTree(tree.broker_count, parents))


def with_brokers(tree: DispatchTree, brokers: DispatchTree) -> DispatchTree:
    """The tree with the parents of another one that may lack its clients."""
    parents = np.concatenate((brokers.parents, tree.parents[brokers.vertex_count :]))
    return DispatchTree(tree.broker_count, parents)
