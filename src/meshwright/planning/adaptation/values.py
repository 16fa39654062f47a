"""A dispatching tree, the traffic on it, and what links and brokers cost [OCBR, 2]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import Int32Array, Int64Array, Interests
from meshwright.model.wording import counted
from meshwright.planning.adaptation.kernels.subtrees import ClassArrays, PriceArrays

# Costs are exact in 64 bits as long as no sum can pass this.
COST_MAX = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class DispatchTree:
    """A spanning tree over brokers, and clients as its leaves.

    Vertices are the brokers, then the clients. parents: towards broker 0, which is its own parent,
    (vertex,); a client's parent is its broker.
    """

    broker_count: int
    parents: Int32Array

    def __post_init__(self) -> None:
        self.parents.setflags(write=False)

    @property
    def vertex_count(self) -> int:
        return len(self.parents)

    def links(self) -> list[tuple[int, int]]:
        """Links between brokers, lower first, ascending."""
        ups = self.parents[1 : self.broker_count].tolist()
        return sorted((min(low, up), max(low, up)) for low, up in enumerate(ups, start=1))

    def degrees(self) -> Int32Array:
        """Links of each broker to other brokers: (broker,)."""
        degrees = np.bincount(self.parents[1 : self.broker_count], minlength=self.broker_count)
        degrees[1:] += 1
        return degrees.astype(np.int32)

    def hosts(self) -> Int32Array:
        """The broker of every vertex; a broker's is itself: (vertex,)."""
        hosts = np.arange(self.vertex_count, dtype=np.int32)
        hosts[self.broker_count :] = self.parents[self.broker_count :]
        return hosts


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Demand of an observed period.

    classes: traffic classes by vertices, each the set of those between whom a message travels.
    messages: published by any member of a class and delivered to all others, (class,).
    """

    classes: Interests
    messages: Int64Array

    def __post_init__(self) -> None:
        if len(self.messages) != self.classes.row_count:
            raise CallerError("traffic classes and their messages differ in number")
        if len(self.messages) and int(self.messages.min()) < 0:
            raise ProblemError("A traffic class has fewer than 0 messages; count from 0.")
        self.messages.setflags(write=False)

    def arrays(self) -> ClassArrays:
        """The same as kernels take it."""
        return ClassArrays(self.classes.offsets, self.classes.columns, self.messages)


@dataclass(frozen=True, slots=True, eq=False)
class TreeCosts:
    """What one message costs, in whole numbers; the defaults count links and brokers.

    link_weight, broker_weight: alpha and beta. links: cost of a link, (vertex, broker), equal in
    both directions between brokers, or None where each costs 1. brokers: (broker,), or None
    likewise.
    """

    link_weight: int = 1
    broker_weight: int = 1
    links: Int64Array | None = None
    brokers: Int64Array | None = None

    def __post_init__(self) -> None:
        if self.link_weight < 0 or self.broker_weight < 0:
            raise ProblemError("The weights of links and brokers must be 0 or more.")
        for name, array in (("link", self.links), ("broker", self.brokers)):
            if array is not None:
                if array.size and int(array.min()) < 0:
                    raise ProblemError(f"The cost of a {name} must be 0 or more.")
                array.setflags(write=False)
        if self.links is not None:
            square = self.links[: self.links.shape[1]]
            if square.shape[0] != square.shape[1] or bool(np.any(square != square.T)):
                raise ProblemError("A link must cost the same in both directions.")

    def prices(self, tree: DispatchTree) -> PriceArrays:
        """Weighted costs for the vertices of a tree."""
        brokers = np.zeros(tree.vertex_count, dtype=np.int64)
        brokers[: tree.broker_count] = 1 if self.brokers is None else self.brokers
        links = np.ones((1, 1), dtype=np.int64) if self.links is None else self.links
        return PriceArrays(
            links * self.link_weight,
            brokers * self.broker_weight,
            np.arange(tree.vertex_count, dtype=np.int32),
        )


def tree_from_links(
    broker_count: int,
    links: list[tuple[int, int]],
    client_brokers: list[int] | None = None,
) -> DispatchTree:
    """A tree from its links between brokers and the broker of each client."""
    if broker_count < 1:
        raise ProblemError("A tree needs at least one broker; give one.")
    if len(links) != broker_count - 1:
        raise ProblemError(
            f"{counted(len(links), 'link')} cannot join {counted(broker_count, 'broker')} "
            f"in a tree; give exactly {broker_count - 1}."
        )
    ends = np.array(links, dtype=np.int32).reshape(-1, 2)
    ones = np.ones(len(ends), dtype=np.int8)
    graph = coo_array((ones, (ends[:, 0], ends[:, 1])), shape=(broker_count, broker_count))
    order, parents = breadth_first_order(graph.tocsr(), 0, directed=False)
    if len(order) != broker_count:
        missing = min(set(range(broker_count)) - set(order.tolist()))
        raise ProblemError(
            f"The links leave broker number {missing} apart from broker number 0; "
            "a tree joins every broker to every other."
        )
    parents = parents.astype(np.int32)
    parents[0] = 0
    clients = np.array(client_brokers or [], dtype=np.int32)
    return DispatchTree(broker_count, np.concatenate((parents, clients)))


def check_demand(tree: DispatchTree, traffic: Traffic, costs: TreeCosts) -> None:
    """Raise unless tree, traffic and costs fit each other and every cost is exact in 64 bits."""
    if traffic.classes.column_count != tree.vertex_count:
        raise CallerError("the traffic is over other vertices than the tree")
    if costs.brokers is not None and len(costs.brokers) != tree.broker_count:
        raise CallerError("the costs are of other brokers than the tree's")
    if costs.links is not None and costs.links.shape != (tree.vertex_count, tree.broker_count):
        raise CallerError("the costs are of other links than the tree's")
    link = 1 if costs.links is None else int(costs.links.max(initial=0))
    broker = 1 if costs.brokers is None else int(costs.brokers.max(initial=0))
    message = (costs.link_weight * link + costs.broker_weight * broker) * tree.vertex_count
    if message * sum(traffic.messages.tolist()) >= COST_MAX:
        raise ProblemError(
            "The traffic and its costs are too large to add up exactly; count in larger units."
        )
