"""What planning makes of a tree: cost by round, the gap to the optimum, the effort of a search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from meshwright.lab.adapting.demand import (
    TrafficKind,
    drawn_costs,
    drawn_traffic,
    drawn_tree,
    drifted,
)
from meshwright.planning.adaptation.cost import broker_level, tree_cost
from meshwright.planning.adaptation.neighbourhood import local_classes
from meshwright.planning.adaptation.rounds import AdaptationRules, adapt_in_rounds
from meshwright.planning.adaptation.search import SearchRules, best_local_tree, optimal_tree
from meshwright.planning.adaptation.values import DispatchTree, Traffic, tree_from_links

ROUNDS_SHOWN = 12
# Every gain is taken, however small: for what a search finds, not for what a switch is worth.
EAGER = AdaptationRules(gain_share_min=0.0, messages_per_neighbour=0, messages_per_client=0)
# A tenure of 0 stands for lists that never forget.
NEVER = 0


def measure_rounds(
    *,
    seed: int,
    kind: TrafficKind,
    broker_count: int,
    gain_share_min: float = 0.02,
    degree_max: int = 8,
) -> list[dict[str, Any]]:
    """The cost of a tree by round, as a share of what it costs if it stays."""
    tree, traffic, rng = _drawn(kind, broker_count, seed)
    search = SearchRules(degree_max=degree_max)
    rules = AdaptationRules(search=search, gain_share_min=gain_share_min)
    found = adapt_in_rounds(tree, traffic, rng, rules=rules)
    first = found.round_costs[0]
    shown = list(found.round_costs) + [found.round_costs[-1]] * ROUNDS_SHOWN
    facts = {
        "rounds": len(found.round_costs) - 2,
        "changes": len(found.reconfigurations),
        "changes_per_broker": len(found.reconfigurations) / broker_count,
        "switch_share": sum(one.messages for one in found.reconfigurations) / first,
        "cost_share_end": found.round_costs[-1] / first,
        "falls": float(all(one.cost_after < one.cost_before for one in found.reconfigurations)),
        "is_exact": float(tree_cost(found.tree, traffic) == found.round_costs[-1]),
        "tree": "adapts",
    }
    rows = [
        {"round": number, "cost_share": shown[number] / first, **facts}
        for number in range(ROUNDS_SHOWN + 1)
    ]
    return rows + [row | {"tree": "stays", "cost_share": 1.0} for row in rows]


def measure_gap(
    *, seed: int, kind: TrafficKind, broker_count: int, tenure: int, iterations: int = 50
) -> dict[str, Any]:
    """How far above the cheapest of all trees a tree is before and after adapting, in per cent."""
    tree, traffic, rng = _drawn(kind, broker_count, seed)
    search = replace(_search(tenure, iterations, 50), exhaustive_trees_max=0)
    costs = drawn_costs(tree, 1, 1, rng.spawn(1)[0])
    rules = replace(EAGER, search=search)
    found = adapt_in_rounds(tree, traffic, rng, costs=costs, rules=rules)
    optimum = tree_cost(optimal_tree(tree, traffic, costs), traffic, costs)
    gap = 100.0 * (found.round_costs[-1] / optimum - 1.0)
    return {
        "gap_before": 100.0 * (found.round_costs[0] / optimum - 1.0),
        "gap": gap,
        "lists": lists(tenure),
        "is_optimal": float(gap == 0.0),
    }


def measure_search(
    *,
    seed: int,
    neighbour_count: int,
    tenure: int,
    iterations: int,
    moves_max: int,
    kind: TrafficKind = "groups",
) -> dict[str, Any]:
    """What one tabu search leaves of the cost of a star, in per cent."""
    traffic_rng, cost_rng, search_rng = np.random.default_rng(seed).spawn(3)
    hosts = np.tile(np.arange(neighbour_count + 1), 3).tolist()
    star = tree_from_links(
        neighbour_count + 1, [(0, low) for low in range(1, neighbour_count + 1)], hosts
    )
    brokers, traffic = broker_level(star, drawn_traffic(kind, star, traffic_rng))
    view = local_classes(brokers, traffic, 0)
    prices = drawn_costs(brokers, 1, 1, cost_rng).prices(brokers)
    rules = replace(_search(tenure, iterations, moves_max), exhaustive_trees_max=0)
    parents, _ = best_local_tree(view, prices, rules, search_rng)
    left = view.cost(parents, prices) / view.cost(view.star(), prices)
    return {"cost_left": 100.0 * left, "lists": lists(tenure)}


def measure_weights(
    *, seed: int, weights: str, kind: TrafficKind, broker_count: int
) -> list[dict[str, Any]]:
    """What weights do to the two parts of the cost, each as a share of before.

    weights: alpha and beta, with a colon in between.
    """
    link_weight, broker_weight = map(int, weights.split(":"))
    tree, traffic, rng = _drawn(kind, broker_count, seed)
    cost_rng, rng = rng.spawn(2)
    costs = drawn_costs(tree, link_weight, broker_weight, cost_rng)
    rules = AdaptationRules(search=SearchRules(degree_max=8))
    found = adapt_in_rounds(tree, traffic, rng, costs=costs, rules=rules)
    parts = {
        "links": replace(costs, link_weight=1, broker_weight=0),
        "brokers": replace(costs, link_weight=0, broker_weight=1),
        "the weighted sum": costs,
    }
    return [
        {
            "weight_of_links": link_weight / (link_weight + broker_weight),
            "part": part,
            "left": tree_cost(found.tree, traffic, one) / tree_cost(tree, traffic, one),
        }
        for part, one in parts.items()
    ]


def measure_drift(
    *,
    seed: int,
    drift_share: float,
    kind: TrafficKind,
    broker_count: int,
    period_count: int = 12,
    degree_max: int = 8,
) -> list[dict[str, Any]]:
    """What each period costs where every broker looks once a period, at the period before.

    Shares are of what the tree of the beginning costs in the same period; those of the tree that
    adapts are told with and without the messages of its switches. A tree that is drawn anew from
    the beginning for every period, knowing it, stands beside them.
    """
    tree, traffic, rng = _drawn(kind, broker_count, seed)
    rules = AdaptationRules(search=SearchRules(degree_max=degree_max))
    rows: list[dict[str, Any]] = []
    adapted, spent = tree, 0
    for period in range(period_count):
        still = tree_cost(tree, traffic)
        cost = tree_cost(adapted, traffic)
        knowing = adapt_in_rounds(tree, traffic, rng.spawn(1)[0], rules=rules).round_costs[-1]
        for name, amount in (
            ("stays", still), ("adapts", cost), ("adapts, with switches", cost + spent),
            ("knows all, at once", knowing),
        ):  # fmt: skip
            rows.append({"period": period, "tree": name, "cost_share": amount / still})
        found = adapt_in_rounds(adapted, traffic, rng.spawn(1)[0], rules=rules, rounds_max=1)
        adapted, spent = found.tree, sum(one.messages for one in found.reconfigurations)
        traffic = drifted(kind, tree, traffic, drift_share, rng)
    return rows


def measure_clients(
    *, seed: int, kind: TrafficKind, broker_count: int, move_clients: bool, degree_max: int = 8
) -> dict[str, Any]:
    """What is left of the cost if clients may move, too, and how they come together."""
    tree, traffic, rng = _drawn(kind, broker_count, seed)
    rules = AdaptationRules(search=SearchRules(degree_max=degree_max), move_clients=move_clients)
    found = adapt_in_rounds(tree, traffic, rng, rules=rules)
    hosts = found.tree.hosts()[broker_count:]
    return {
        "clients": "move" if move_clients else "stay",
        "cost_left": found.round_costs[-1] / found.round_costs[0],
        "moved_share": float(np.mean(hosts != tree.hosts()[broker_count:])),
        "fullest_share": float(np.bincount(hosts).max() / len(hosts)),
    }


def _drawn(
    kind: TrafficKind, broker_count: int, seed: int
) -> tuple[DispatchTree, Traffic, np.random.Generator]:
    tree_rng, traffic_rng, rng = np.random.default_rng(seed).spawn(3)
    tree = drawn_tree(broker_count, tree_rng)
    return tree, drawn_traffic(kind, tree, traffic_rng), rng


def lists(tenure: int) -> str:
    """How a figure names a tenure."""
    return "never forget" if tenure == NEVER else f"forget after {tenure}"


def _search(tenure: int, iterations: int, moves_max: int) -> SearchRules:
    """Lists that never forget are as long as the search."""
    return SearchRules(
        iterations=iterations, moves_max=moves_max, tenure=tenure if tenure != NEVER else iterations
    )
