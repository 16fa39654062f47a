"""Shortest paths between all brokers of an explicit graph at once, as arrays."""

from __future__ import annotations

from meshwright.model.interests import Int32Array
from meshwright.overlays.graph import Graph
from meshwright.overlays.kernels.breadth import all_hops, all_next_hops


def hop_matrix(joined: Graph) -> Int32Array:
    """Hops between brokers, -1 where there is no way: (source, target)."""
    hops: Int32Array = all_hops(joined.offsets, joined.neighbours)
    return hops


def next_hop_matrix(joined: Graph) -> Int32Array:
    """The next hop from source to target, -1 where there is no way: (source, target)."""
    hops = hop_matrix(joined)
    next_hops: Int32Array = all_next_hops(joined.offsets, joined.neighbours, hops)
    return next_hops
