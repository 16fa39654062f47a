"""From single hops to whole routes: walks, trees of a root, and links."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.overlay import Parameter
from meshwright.overlays.geometry import KeyGeometry, TreeDirection


def walk(next_hop: Callable[[int], int], source: int) -> list[int]:
    """Positions visited from the source on, until a position is its own next hop."""
    visited = [source]
    while (following := next_hop(visited[-1])) != visited[-1]:
        visited.append(following)
    return visited


def geometry_from_hops(
    name: str,
    tree_direction: TreeDirection,
    identifiers: Int64Array,
    next_hops: Int32Array,
    neighbours: Int32Array,
    *,
    params: Mapping[str, Parameter],
) -> KeyGeometry:
    """The whole key geometry of given next hops and neighbours.

    next_hops: (source, target). neighbours: (position, entry), -1 where an entry is empty.
    Costs one pass over (source, target) for each hop of the longest route.
    """
    last_hops, hops = _follow(next_hops)
    grows_down = tree_direction == "root_to_member"
    return KeyGeometry(
        name=name,
        tree_direction=tree_direction,
        identifiers=identifiers,
        next_hops=next_hops,
        parents=last_hops if grows_down else np.ascontiguousarray(next_hops.T),
        hops=hops if grows_down else np.ascontiguousarray(hops.T),
        links=links_between(*_ends(neighbours), len(identifiers)),
        params=params,
    )


def links_between(
    sources: NDArray[np.integer], targets: NDArray[np.integer], broker_count: int
) -> Int32Array:
    """Distinct unordered pairs of different ends, lower first, in ascending order: (link, 2)."""
    is_linked = np.zeros((broker_count, broker_count), dtype=np.bool_)
    is_linked[sources, targets] = True
    return np.argwhere(np.triu(is_linked | is_linked.T, k=1)).astype(np.int32)


def _ends(neighbours: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Each position beside each of its neighbours: (pair,) and (pair,)."""
    sources, entries = np.nonzero(neighbours >= 0)
    return sources, neighbours[sources, entries]


def _follow(next_hops: Int32Array) -> tuple[Int32Array, Int32Array]:
    """The position before the target and the number of hops of each route: (source, target)."""
    position_count = len(next_hops)
    targets = np.tile(np.arange(position_count, dtype=np.int32), position_count)
    last_hops = targets.copy()
    hops = np.zeros(position_count * position_count, dtype=np.int32)
    routes = np.arange(position_count * position_count)
    here = np.repeat(np.arange(position_count, dtype=np.int32), position_count)
    in_flight = here != targets
    while in_flight.any():
        routes, here, targets = routes[in_flight], here[in_flight], targets[in_flight]
        last_hops[routes] = here
        hops[routes] += 1
        here = next_hops[here, targets]
        in_flight = here != targets
    shape = next_hops.shape
    return last_hops.reshape(shape), hops.reshape(shape)
