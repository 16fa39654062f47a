"""Tree adaptation: how long a thousand brokers take until none improves."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from benchmarks.table import Row
from meshwright.model.interests import interests_from_sets
from meshwright.planning.adaptation.cost import tree_cost, tree_figures
from meshwright.planning.adaptation.rounds import AdaptationRules, adapt_in_rounds
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.adaptation.values import (
    DispatchTree,
    Traffic,
    TreeCosts,
    tree_from_links,
)

BROKERS = 1000
CLASSES = 10_000


def rows() -> list[Row]:
    limited = AdaptationRules(search=SearchRules(degree_max=10))
    return [
        _compilation(),
        _convergence("4-ary tree", _four_ary(BROKERS), None, AdaptationRules()),
        _convergence("random tree", _random_tree(BROKERS, 1), None, AdaptationRules()),
        _convergence("random tree, degree at most 10", _random_tree(BROKERS, 1), None, limited),
        _convergence(
            "random tree, links cost their length",
            _random_tree(BROKERS, 1),
            _lengths(BROKERS),
            AdaptationRules(),
        ),
    ]


def _compilation() -> Row:
    start = time.perf_counter()
    traffic = _local_traffic(30, 100, 0)
    for trees_max in (0, 2000):
        search = SearchRules(exhaustive_trees_max=trees_max)
        adapt_in_rounds(
            _four_ary(30), traffic, np.random.default_rng(0), rules=AdaptationRules(search=search)
        )
    seconds = time.perf_counter() - start
    return Row(
        "ocbr: first call of the kernels",
        f"{seconds:.2f} s",
        "-",
        note="compilation, or reading the cached kernels; excluded below",
    )


def _convergence(
    label: str, tree: DispatchTree, costs: TreeCosts | None, rules: AdaptationRules
) -> Row:
    traffic = _local_traffic(BROKERS, CLASSES, 2)
    start = time.perf_counter()
    found = adapt_in_rounds(tree, traffic, np.random.default_rng(3), costs=costs, rules=rules)
    seconds = time.perf_counter() - start
    changes = found.reconfigurations
    falls = all(change.cost_after < change.cost_before for change in changes)
    never_rises = all(after <= before for before, after in pairwise(found.round_costs))
    is_exact = found.round_costs[-1] == tree_cost(found.tree, traffic, costs)
    relayed = [tree_figures(each, traffic).messages_external for each in (tree, found.tree)]
    shares = " ".join(f"{cost / found.round_costs[0]:.3f}" for cost in found.round_costs)
    return Row(
        f"ocbr, 1000 brokers, 10,000 classes, to convergence: {label}",
        f"{seconds:.1f} s",
        "report; cost never rises",
        met=falls and never_rises and is_exact,
        note=(
            f"cost by round {shares}; {len(changes)} changes, "
            f"{sum(change.messages for change in changes)} switch messages; relayed messages "
            f"{relayed[1] / relayed[0]:.2f} of before; greatest degree "
            f"{int(tree.degrees().max())} -> {int(found.tree.degrees().max())}"
        ),
    )


def _four_ary(broker_count: int) -> DispatchTree:
    return tree_from_links(broker_count, [((low - 1) // 4, low) for low in range(1, broker_count)])


def _random_tree(broker_count: int, seed: int) -> DispatchTree:
    """Each broker joins a random earlier one."""
    ups = np.random.default_rng(seed).integers(np.arange(1, broker_count)).tolist()
    return tree_from_links(broker_count, [(up, low) for low, up in enumerate(ups, start=1)])


def _local_traffic(broker_count: int, class_count: int, seed: int) -> Traffic:
    """Classes of two to nine brokers near each other on a hidden circle; a tenth are strangers."""
    rng = np.random.default_rng([seed, 1])
    circle = rng.permutation(broker_count)
    rows = []
    for _ in range(class_count):
        centre, size = rng.integers(broker_count), int(rng.integers(1, 9))
        offsets = np.rint(rng.laplace(0.0, max(broker_count / 100, 1.0), size)).astype(np.int64)
        if rng.random() < 0.1:
            offsets = rng.integers(broker_count, size=size)
        members = {int(circle[centre]), int(circle[(centre + 1) % broker_count])}
        rows.append(members | set(circle[(centre + offsets) % broker_count].tolist()))
    messages = rng.integers(1, 200, size=class_count)
    return Traffic(interests_from_sets(rows, broker_count), messages)


def _lengths(broker_count: int) -> TreeCosts:
    """Links cost 1 to 15, by the distance of brokers in a unit square."""
    places = np.random.default_rng(4).random((broker_count, 2))
    spans = places[:, None] - places[None]
    lengths = np.hypot(spans[..., 0], spans[..., 1])
    return TreeCosts(links=1 + np.rint(10.0 * lengths).astype(np.int64))
