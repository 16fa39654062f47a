"""Greedy on degrees: a pair scores one for each end still short of links in a shared topic.

A broker is short in a topic while it has fewer than min(k, members - 1) links there. [beyond, 6]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array
from meshwright.planning.topic_connected.kernels.membership import (
    Membership,
    shared_buffer,
    shared_topics,
)
from meshwright.planning.topic_connected.kernels.scan import (
    count_shared_topics,
    new_scan,
    next_pair,
)

END_COUNT = 2


@njit(cache=True)
def fill_deficits(members: Membership, scores: NDArray[Any], k: int, tie: int) -> Int32Array:
    """Links that give every broker min(k, members - 1) links in each topic, in order of addition.

    scores: all zero, signed, for END_COUNT times the shared topics, (broker, broker); used up.
    """
    deficits = _first_deficits(members, k)
    shared = shared_buffer(members)
    count_shared_topics(members, scores, END_COUNT)
    scan = new_scan(scores, np.zeros(len(scores), dtype=np.int32), tie)
    links = np.empty((int(deficits.sum()), 2), dtype=np.int32)
    link_count = 0
    while True:
        left, right = next_pair(scan, tie)
        if left < 0:
            return links[:link_count]
        links[link_count, 0] = left
        links[link_count, 1] = right
        link_count += 1
        # A pair is linked once; its score can only fall from here, so it is never found again.
        scores[left, right] = 0
        for index in range(shared_topics(members, left, right, shared)):
            first = members.topic_offsets[shared[0, index]]
            others = members.slot_brokers[first : members.topic_offsets[shared[0, index] + 1]]
            for slot in (shared[1, index], shared[2, index]):
                deficits[slot] -= 1
                if deficits[slot] == 0:
                    _lower_row(scores, members.slot_brokers[slot], others)


@njit(cache=True)
def _first_deficits(members: Membership, k: int) -> Int32Array:
    deficits = np.empty(len(members.slot_brokers), dtype=np.int32)
    for topic in range(len(members.topic_offsets) - 1):
        start, end = members.topic_offsets[topic], members.topic_offsets[topic + 1]
        for slot in range(start, end):
            deficits[slot] = min(k, end - start - 1)
    return deficits


@njit(cache=True)
def _lower_row(scores: NDArray[Any], broker: int, others: Int32Array) -> None:
    for other in others:
        scores[broker, other] -= 1
