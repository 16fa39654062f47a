"""Trees from the root down, so that all that is below a position follows it in one row."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array


@njit(cache=True)
def descents_of(
    parents: Int32Array, depths: Int32Array
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Positions in their row, the place of each there, and how many are at or below each.

    All are (tree, position), as are parents and depths.
    """
    descents, places = np.empty_like(parents), np.empty_like(parents)
    sizes = np.ones_like(parents)
    free = np.empty(parents.shape[1], dtype=np.int32)
    for tree in range(len(parents)):
        above, size, place = parents[tree], sizes[tree], places[tree]
        by_depth = np.argsort(depths[tree], kind="mergesort")
        for position in by_depth[:0:-1]:
            size[above[position]] += size[position]
        place[by_depth[0]] = 0
        free[by_depth[0]] = 1  # the first place for what is below and has none yet
        for position in by_depth[1:]:
            place[position] = free[above[position]]
            free[above[position]] += size[position]
            free[position] = place[position] + 1
        for position in range(len(place)):
            descents[tree, place[position]] = position
    return descents, places, sizes
