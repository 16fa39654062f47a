"""What a tree costs under its traffic, exactly, and who only relays [OCBR, eq. 1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.interests import Int64Array, Interests
from meshwright.planning.adaptation.kernels.subtrees import (
    ClassArrays,
    class_prices,
    class_shapes,
)
from meshwright.planning.adaptation.kernels.views import project
from meshwright.planning.adaptation.values import (
    DispatchTree,
    Traffic,
    TreeCosts,
    check_demand,
)


@dataclass(frozen=True, slots=True)
class TreeFigures:
    """Messages over the observed period that the cost sums up in another way.

    messages_external: received by brokers that only relay, that is, lie in the minimal subtree of
    a class but are no member and host none. delay_hops: broker hops summed over messages and the
    member brokers that receive them, where each member broker is as often the publisher's.
    """

    messages_external: int
    delay_hops: float


def tree_cost(tree: DispatchTree, traffic: Traffic, costs: TreeCosts | None = None) -> int:
    """Sum over classes of messages times (alpha * links + beta * brokers) of the minimal subtree.

    A class of one member costs nothing.
    """
    costs = costs or TreeCosts()
    check_demand(tree, traffic, costs)
    prices = class_prices(traffic.arrays(), tree.parents, costs.prices(tree))
    return weighted_sum(prices, traffic.messages)


def tree_figures(tree: DispatchTree, traffic: Traffic) -> TreeFigures:
    """Relayed messages and hops of a tree."""
    tree, traffic = broker_level(tree, traffic)
    shapes = class_shapes(traffic.arrays(), tree.parents)
    sizes = traffic.classes.counts()
    hops = 2.0 * traffic.messages * shapes[:, 1] / np.maximum(sizes, 1)
    return TreeFigures(
        messages_external=weighted_sum(shapes[:, 0] - sizes, traffic.messages),
        delay_hops=float(hops.sum()),
    )


def broker_level(tree: DispatchTree, traffic: Traffic) -> tuple[DispatchTree, Traffic]:
    """The same question with each client replaced by its broker, for clients that do not move.

    Classes that stay on one broker are left out: no change of links between brokers affects them.
    """
    brokers = DispatchTree(tree.broker_count, tree.parents[: tree.broker_count].copy())
    return brokers, traffic_of(project(traffic.arrays(), tree.hosts()), tree.broker_count)


def traffic_of(classes: ClassArrays, vertex_count: int) -> Traffic:
    """Traffic from what a kernel returns."""
    return Traffic(Interests(vertex_count, classes.offsets, classes.members), classes.messages)


def weighted_sum(values: Int64Array, messages: Int64Array) -> int:
    """Exact total over classes; `check_demand` says that it fits."""
    return int(np.dot(values, messages))
