"""Even's test of vertex connectivity, as a walk from one small cut to the next.

The members of a topic are seated in a row. It is k-connected iff the first k are joined pairwise by
k disjoint paths and every later one has k disjoint paths to distinct earlier ones. Any row will do;
one in which most members have k earlier neighbours makes nearly all of it trivial. [Even, 1975]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.planning.topic_connected.kernels.membership import Membership
from meshwright.planning.topic_connected.kernels.paths import (
    CLOSED,
    OPEN,
    TERMINAL,
    Adjacency,
    Search,
    adjacency_of,
    clear_paths,
    disjoint_paths,
    neighbours,
    new_search,
    set_topic_roles,
)

TOPIC, LATER, EARLIER, FIRST = 0, 1, 2, 3
NO_CUT = -1
RANK_COUNT = 33


class Walk(NamedTuple):
    """Where the test of one topic stands.

    row: its members as seated. at: the topic, the seats under test, and how many come first.
    """

    row: Int32Array
    at: Int64Array


@njit(cache=True)
def topic_connectivities(members: Membership, links: Int32Array, k: int) -> Int32Array:
    """Vertex connectivity of each topic's sub-overlay, at most k or one less than its members."""
    broker_count = len(members.broker_offsets) - 1
    topic_count = len(members.topic_offsets) - 1
    adjacency = adjacency_of(links, broker_count, 0)
    search = new_search(broker_count)
    held = np.zeros(topic_count, dtype=np.int32)
    for topic in range(topic_count):
        walk = new_walk(search, adjacency, members, topic, k)
        limit = walk.at[FIRST]
        while limit > 0:
            count = next_cut(search, adjacency, members, walk, limit)
            if count == NO_CUT:
                break
            clear_paths(search, members, topic)
            limit = count
        held[topic] = limit
        set_topic_roles(search, members, topic, CLOSED)
    return held


@njit(cache=True)
def new_walk(search: Search, adjacency: Adjacency, members: Membership, topic: int, k: int) -> Walk:
    """Seat the members of a topic, always one with most earlier neighbours next."""
    start, end = members.topic_offsets[topic], members.topic_offsets[topic + 1]
    member_count = end - start
    row = np.empty(member_count, dtype=np.int32)
    first_count = max(0, min(k, member_count - 1))
    at = np.zeros(4, dtype=np.int64)
    at[TOPIC] = topic
    at[FIRST] = first_count
    # Unseated members wait on a stack for each count of earlier neighbours; stale ones are skipped.
    waiting = np.empty((RANK_COUNT, member_count), dtype=np.int32)
    heights = np.zeros(RANK_COUNT, dtype=np.int64)
    ranks = np.zeros(len(search.roles), dtype=np.int32)
    for slot in range(end - 1, start - 1, -1):
        waiting[0, heights[0]] = members.slot_brokers[slot]
        heights[0] += 1
    set_topic_roles(search, members, topic, OPEN)
    rank = 0
    for seat in range(member_count):
        broker = -1
        while broker < 0:
            while heights[rank] == 0:
                rank -= 1
            heights[rank] -= 1
            candidate = waiting[rank, heights[rank]]
            if search.roles[candidate] == OPEN and ranks[candidate] == rank:
                broker = candidate
        row[seat] = broker
        search.roles[broker] = CLOSED
        for other in neighbours(adjacency, broker):
            if search.roles[other] == OPEN and ranks[other] < RANK_COUNT - 1:
                ranks[other] += 1
                waiting[ranks[other], heights[ranks[other]]] = other
                heights[ranks[other]] += 1
                rank = max(rank, ranks[other])
    return Walk(row, at)


@njit(cache=True)
def next_cut(
    search: Search, adjacency: Adjacency, members: Membership, walk: Walk, limit: int
) -> int:
    """The size of the next cut below the limit, or NO_CUT when none is left.

    The walk stays where the cut was found, and the search shows it (see `disjoint_paths`) until the
    caller clears its paths. What was passed stays true if links are added or the limit is lowered.
    """
    row, at = walk
    for later in range(at[LATER], len(row)):
        at[LATER] = later
        if later < at[FIRST]:
            count = _cut_among_first(search, adjacency, members, walk, limit)
            if count != NO_CUT:
                return count
            at[EARLIER] = 0
            continue
        if at[EARLIER] == 0:
            set_topic_roles(search, members, at[TOPIC], OPEN)
            for seat in range(later):
                search.roles[row[seat]] = TERMINAL
            at[EARLIER] = later
        count = disjoint_paths(search, adjacency, row[later], limit)
        if count < limit:
            return count
        clear_paths(search, members, at[TOPIC])
        search.roles[row[later]] = TERMINAL
    at[LATER] = len(row)
    return NO_CUT


@njit(cache=True)
def aim_at(
    search: Search, adjacency: Adjacency, members: Membership, topic: int, target: int
) -> None:
    """Set roles so that paths to terminals are paths to the target by other ways than a link."""
    set_topic_roles(search, members, topic, OPEN)
    for neighbour in neighbours(adjacency, target):
        if search.roles[neighbour] == OPEN:
            search.roles[neighbour] = TERMINAL
    search.roles[target] = CLOSED


@njit(cache=True)
def _cut_among_first(
    search: Search, adjacency: Adjacency, members: Membership, walk: Walk, limit: int
) -> int:
    """The size of a cut between the later seat under test and one of those before it, or NO_CUT."""
    row, at = walk
    aim_at(search, adjacency, members, at[TOPIC], row[at[LATER]])
    for earlier in range(at[EARLIER], at[LATER]):
        if search.roles[row[earlier]] == TERMINAL:
            continue
        at[EARLIER] = earlier
        count = disjoint_paths(search, adjacency, row[earlier], limit)
        if count < limit:
            return count
        clear_paths(search, members, at[TOPIC])
    return NO_CUT
