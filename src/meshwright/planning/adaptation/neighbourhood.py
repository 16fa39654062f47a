"""What one broker sees and may change: itself, its neighbours, and the messages between them.

The part of a message's way inside a neighbour's side of the tree always contains that neighbour
and never changes, so a change of local cost is exactly the change of global cost [OCBR, 3.1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array
from meshwright.planning.adaptation.cost import traffic_of, weighted_sum
from meshwright.planning.adaptation.kernels.subtrees import PriceArrays, class_prices
from meshwright.planning.adaptation.kernels.tabu import hang
from meshwright.planning.adaptation.kernels.views import branches, project
from meshwright.planning.adaptation.values import DispatchTree, Traffic


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """A master's local view; local vertex 0 is the master.

    vertices: the master, its neighbouring brokers, its own clients, each in order, (local,).
    outer_degrees: links of each local broker to brokers outside, (local broker,).
    traffic: classes over local vertices.
    """

    vertices: Int32Array
    outer_degrees: Int32Array
    traffic: Traffic

    @property
    def broker_count(self) -> int:
        return len(self.outer_degrees)

    @property
    def master(self) -> int:
        return int(self.vertices[0])

    @property
    def degree(self) -> int:
        return len(self.vertices) - 1

    def star(self) -> Int32Array:
        """Parents of the present local tree: (local,)."""
        return np.zeros(len(self.vertices), dtype=np.int32)

    def rooms(self, degree_max: int | None) -> Int32Array:
        """Local links each local broker may have, never fewer than now: (local broker,)."""
        most = np.full(self.broker_count, self.broker_count, dtype=np.int32)
        if degree_max is not None:
            now = np.ones_like(most)
            now[0] = self.broker_count - 1
            most = np.maximum(np.int32(degree_max) - self.outer_degrees, now)
        return most

    def prices(self, prices: PriceArrays) -> PriceArrays:
        """Prices of the local vertices, from those of the whole tree."""
        return PriceArrays(prices.links, prices.brokers[self.vertices], self.vertices)

    def cost(self, local_parents: Int32Array, prices: PriceArrays) -> int:
        """Local cost of a local tree; prices are those of the whole tree."""
        found = class_prices(self.traffic.arrays(), local_parents, self.prices(prices))
        return weighted_sum(found, self.traffic.messages)


def local_classes(tree: DispatchTree, traffic: Traffic, master: int) -> Neighbourhood:
    """The local view of a master: each member becomes the neighbour that leads to it.

    Messages with one local end only are invisible; classes that look the same are merged.
    Cost: vertices plus members of all classes.
    """
    if not 0 <= master < tree.broker_count:
        raise CallerError(f"vertex {master} is not a broker of the tree")
    leads = branches(tree.parents, master)
    children = np.flatnonzero(tree.parents == master)
    near = np.union1d(children, tree.parents[master])
    near = near[near != master]
    vertices = np.concatenate(([master], near)).astype(np.int32)
    local_numbers = np.zeros(tree.vertex_count, dtype=np.int32)
    local_numbers[vertices] = np.arange(len(vertices), dtype=np.int32)
    brokers = vertices[vertices < tree.broker_count]
    outer_degrees = tree.degrees()[brokers] - 1
    outer_degrees[0] = 0
    return Neighbourhood(
        vertices=vertices,
        outer_degrees=outer_degrees,
        traffic=traffic_of(project(traffic.arrays(), local_numbers[leads]), len(vertices)),
    )


def rewired(
    tree: DispatchTree, neighbourhood: Neighbourhood, local_parents: Int32Array
) -> DispatchTree:
    """The whole tree after the neighbourhood has taken on a local tree rooted at its master."""
    vertices = neighbourhood.vertices
    top = int(tree.parents[neighbourhood.master])
    local = local_parents.copy()
    top_number = int(np.flatnonzero(vertices == top)[0])
    if top_number:
        # The side of the root hangs below nobody: turn the local tree until it is on top.
        hang(local, top_number, top_number, 0)
    parents = tree.parents.copy()
    above = parents[top]
    parents[vertices] = vertices[local]
    parents[top] = above
    return DispatchTree(tree.broker_count, parents)
