"""Breadth-first searches from every broker of a graph."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array


@njit(cache=True)
def all_hops(offsets: Int64Array, neighbours: Int32Array) -> Int32Array:
    """Hops between brokers, -1 where there is no way: (source, target)."""
    count = len(offsets) - 1
    hops = np.full((count, count), -1, dtype=np.int32)
    queue = np.empty(count, dtype=np.int32)
    for source in range(count):
        hops[source, source] = 0
        queue[0] = source
        first, past = 0, 1
        while first < past:
            here = queue[first]
            first += 1
            for other in neighbours[offsets[here] : offsets[here + 1]]:
                if hops[source, other] < 0:
                    hops[source, other] = hops[source, here] + 1
                    queue[past] = other
                    past += 1
    return hops


@njit(cache=True)
def all_next_hops(offsets: Int64Array, neighbours: Int32Array, hops: Int32Array) -> Int32Array:
    """The lowest neighbour that is nearer to the target: (source, target); -1 if there is none."""
    count = len(offsets) - 1
    next_hops = np.full((count, count), -1, dtype=np.int32)
    for source in range(count):
        next_hops[source, source] = source
        for other in neighbours[offsets[source] : offsets[source + 1]]:
            for target in range(count):
                is_nearer = hops[other, target] == hops[source, target] - 1
                if is_nearer and hops[other, target] >= 0 and next_hops[source, target] < 0:
                    next_hops[source, target] = other
    return next_hops
