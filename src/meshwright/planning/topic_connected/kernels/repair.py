"""Exact repair: every cut smaller than k is joined by the pair across that shares most topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.planning.topic_connected.kernels.cuts import (
    FIRST,
    NO_CUT,
    new_walk,
    next_cut,
)
from meshwright.planning.topic_connected.kernels.membership import Membership
from meshwright.planning.topic_connected.kernels.paths import (
    CLOSED,
    ENTERED,
    LEFT,
    NUMBER,
    SETTLED,
    SETTLED_COUNT,
    Search,
    adjacency_of,
    clear_paths,
    linked,
    new_search,
    set_topic_roles,
)


@njit(cache=True)
def joining_links(
    members: Membership, links: Int32Array, shared: NDArray[Any], topics: Int64Array, k: int
) -> Int32Array:
    """Links that make the given topics k-connected, beside those that stand, in order of addition.

    shared: topics that each pair shares, in the upper cells, (broker, broker).
    """
    broker_count = len(shared)
    adjacency = adjacency_of(links, broker_count, 8)
    search = new_search(broker_count)
    added = np.empty((64, 2), dtype=np.int32)
    added_count = 0
    for topic in topics:
        walk = new_walk(search, adjacency, members, topic, k)
        while walk.at[FIRST] > 0:
            count = next_cut(search, adjacency, members, walk, walk.at[FIRST])
            if count == NO_CUT:
                break
            left, right = _pair_across(search, members, shared, topic)
            clear_paths(search, members, topic)
            adjacency = linked(adjacency, left, right)
            if added_count == len(added):
                added = _with_more_room(added)
            added[added_count, 0] = left
            added[added_count, 1] = right
            added_count += 1
        set_topic_roles(search, members, topic, CLOSED)
    return added[:added_count]


@njit(cache=True)
def _with_more_room(links: Int32Array) -> Int32Array:
    """A copy with as many free rows again."""
    room = np.empty((2 * len(links), 2), dtype=np.int32)
    for index in range(len(links)):
        room[index, 0] = links[index, 0]
        room[index, 1] = links[index, 1]
    return room


@njit(cache=True)
def _pair_across(
    search: Search, members: Membership, shared: NDArray[Any], topic: int
) -> tuple[int, int]:
    """Of the pairs that the cut under the search separates, the one that shares most topics."""
    start, end = members.topic_offsets[topic], members.topic_offsets[topic + 1]
    near = np.empty(end - start, dtype=np.int32)
    far = np.empty(end - start, dtype=np.int32)
    near_count = 0
    far_count = 0
    notes = search.notes
    number = search.counts[NUMBER]
    for settled in notes[SETTLED, : search.counts[SETTLED_COUNT]]:
        notes[ENTERED, settled] = number
    for slot in range(start, end):
        broker = members.slot_brokers[slot]
        if notes[LEFT, broker] == number:
            near[near_count] = broker
            near_count += 1
        elif notes[ENTERED, broker] != number:
            far[far_count] = broker
            far_count += 1
    best_left, best_right, best = -1, -1, -1
    for a in near[:near_count]:
        for b in far[:far_count]:
            left, right = min(a, b), max(a, b)
            if shared[left, right] > best:
                best_left, best_right, best = left, right, shared[left, right]
    return best_left, best_right
