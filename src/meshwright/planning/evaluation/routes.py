"""Many routes followed at once, hop by hop, and the farthest other member of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array, Int64Array, Interests

Advance = Callable[[Int64Array, Int32Array], Int32Array]


def hop_by_hop(
    starts: Int32Array, ends: Int32Array, advance: Advance
) -> Iterator[tuple[Int64Array, Int32Array, Int32Array]]:
    """For each further hop: the routes that take it, where from, and where to.

    starts, ends: (route,). advance(routes, here) gives where each route goes next.
    """
    routes = np.flatnonzero(starts != ends)
    here = starts[routes]
    while len(routes):
        following = advance(routes, here)
        yield routes, here, following
        in_flight = following != ends[routes]
        routes, here = routes[in_flight], following[in_flight]


def members_below(
    members: Interests,
    starts: Int32Array,
    ends: Int32Array,
    advance: Advance,
    *,
    position_count: int,
) -> Int64Array:
    """How many of a topic's members have a position on their way up: (topic, position).

    members: topics by brokers. starts, ends: the way of each pair of members, (pair,).
    """
    topics = members.row_of_pairs()
    below = np.zeros((members.row_count, position_count), dtype=np.int64)
    np.add.at(below, (topics, starts), 1)
    for routes, _, above in hop_by_hop(starts, ends, advance):
        np.add.at(below, (topics[routes], above), 1)
    return below


def greatest_others(offsets: Int64Array, values: NDArray[np.integer]) -> Int64Array:
    """The greatest value among the others of the same group, -1 for one that is alone: (value,).

    Group g is values[offsets[g]:offsets[g + 1]].
    """
    counts = np.diff(offsets)
    groups = np.repeat(np.arange(len(counts)), counts)
    ascending = np.lexsort((values, groups))
    several = counts > 1
    seconds = np.full(len(counts), -1, dtype=np.int64)
    seconds[several] = values[ascending[offsets[1:][several] - 2]]
    filled = counts > 0
    leaders = ascending[offsets[1:][filled] - 1]
    firsts = np.full(len(counts), -1, dtype=np.int64)
    firsts[filled] = values[leaders]
    others = firsts[groups]
    others[leaders] = seconds[filled]
    return others


def sums_by(groups: NDArray[np.integer], values: NDArray[Any], group_count: int) -> NDArray[Any]:
    """The sum of each group's values, whole numbers of such: (group,)."""
    kind = np.float64 if values.dtype.kind == "f" else np.int64
    sums = np.zeros(group_count, dtype=kind)
    np.add.at(sums, groups, values.astype(kind))
    return sums


def greatest_by(
    groups: NDArray[np.integer], values: NDArray[np.integer], group_count: int
) -> Int64Array:
    """The greatest of each group's values, 0 for a group that is empty: (group,)."""
    greatest = np.zeros(group_count, dtype=np.int64)
    np.maximum.at(greatest, groups, values.astype(np.int64))
    return greatest
