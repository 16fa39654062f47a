"""Which links can go: one is spared when every topic of its ends stays k-connected without it.

Removing the link of u and v keeps a k-connected graph so iff k disjoint paths from u to v remain.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array
from meshwright.planning.topic_connected.kernels.cuts import aim_at
from meshwright.planning.topic_connected.kernels.membership import (
    Membership,
    shared_buffer,
    shared_topics,
)
from meshwright.planning.topic_connected.kernels.paths import (
    CLOSED,
    Adjacency,
    Search,
    adjacency_of,
    clear_paths,
    disjoint_paths,
    new_search,
    set_topic_roles,
    unlink,
)


@njit(cache=True)
def kept_links(members: Membership, links: Int32Array, order: Int32Array, k: int) -> BoolArray:
    """Which links stay after each, in the given order, is dropped if it can: (link,)."""
    broker_count = len(members.broker_offsets) - 1
    adjacency = adjacency_of(links, broker_count, 0)
    search = new_search(broker_count)
    shared = shared_buffer(members)
    topic_degrees = _topic_degrees(members, links, shared)
    kept = np.ones(len(links), dtype=np.bool_)
    for index in order:
        left, right = links[index]
        count = shared_topics(members, left, right, shared)
        if not _has_links_to_spare(topic_degrees, shared[:, :count], k):
            continue
        spared = True
        for column in range(count):
            topic = int(shared[0, column])
            if not _stays_joined(search, adjacency, members, (topic, left, right), k):
                spared = False
                break
        if spared:
            kept[index] = False
            unlink(adjacency, left, right)
            for column in range(count):
                topic_degrees[shared[1, column]] -= 1
                topic_degrees[shared[2, column]] -= 1
    return kept


@njit(cache=True)
def _topic_degrees(members: Membership, links: Int32Array, shared: Int32Array) -> Int32Array:
    """Links of each slot within its topic: (slot,)."""
    degrees = np.zeros(len(members.slot_brokers), dtype=np.int32)
    for index in range(len(links)):
        for column in range(shared_topics(members, links[index, 0], links[index, 1], shared)):
            degrees[shared[1, column]] += 1
            degrees[shared[2, column]] += 1
    return degrees


@njit(cache=True)
def _has_links_to_spare(topic_degrees: Int32Array, shared: Int32Array, k: int) -> bool:
    """Whether both ends have more than k links in every shared topic; a small topic has none."""
    for column in range(shared.shape[1]):
        if topic_degrees[shared[1, column]] <= k or topic_degrees[shared[2, column]] <= k:
            return False
    return True


@njit(cache=True)
def _stays_joined(
    search: Search, adjacency: Adjacency, members: Membership, link: tuple[int, int, int], k: int
) -> bool:
    """Whether k disjoint paths join the ends of a link in a topic without it."""
    topic, left, right = link
    aim_at(search, adjacency, members, topic, right)
    count = disjoint_paths(search, adjacency, left, k)
    clear_paths(search, members, topic)
    set_topic_roles(search, members, topic, CLOSED)
    return count >= k
