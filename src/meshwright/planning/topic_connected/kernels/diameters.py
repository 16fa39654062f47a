"""Longest shortest path of each topic's sub-overlay, from all members at once by bit sets."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array
from meshwright.planning.topic_connected.kernels.membership import Membership
from meshwright.planning.topic_connected.kernels.paths import Adjacency, adjacency_of, neighbours

BITS = 64


@njit(cache=True)
def sub_overlay_diameters(members: Membership, links: Int32Array) -> Int32Array:
    """Hops of the longest shortest path in each topic, -1 where it is not connected: (topic,)."""
    broker_count = len(members.broker_offsets) - 1
    topic_count = len(members.topic_offsets) - 1
    adjacency = adjacency_of(links, broker_count, 0)
    seats = np.full(broker_count, -1, dtype=np.int64)
    diameters = np.zeros(topic_count, dtype=np.int32)
    for topic in range(topic_count):
        brokers = members.slot_brokers[
            members.topic_offsets[topic] : members.topic_offsets[topic + 1]
        ]
        for seat in range(len(brokers)):
            seats[brokers[seat]] = seat
        diameters[topic] = _diameter(adjacency, brokers, seats)
        for broker in brokers:
            seats[broker] = -1
    return diameters


@njit(cache=True)
def _diameter(adjacency: Adjacency, brokers: Int32Array, seats: NDArray[np.int64]) -> int:
    """Rounds in which every member hears all that its neighbours know, until nothing is new."""
    member_count = len(brokers)
    word_count = (member_count + BITS - 1) // BITS
    known = np.zeros((member_count, word_count), dtype=np.uint64)
    for seat in range(member_count):
        known[seat, seat // BITS] = np.uint64(1) << np.uint64(seat % BITS)
    heard = np.empty_like(known)
    hops = 0
    while True:
        changed = False
        for seat in range(member_count):
            for word in range(word_count):
                heard[seat, word] = known[seat, word]
            for neighbour in neighbours(adjacency, brokers[seat]):
                if seats[neighbour] >= 0:
                    for word in range(word_count):
                        heard[seat, word] |= known[seats[neighbour], word]
            for word in range(word_count):
                changed |= heard[seat, word] != known[seat, word]
        if not changed:
            return hops if _knows_all(known[:1], member_count) else -1
        known, heard = heard, known
        hops += 1


@njit(cache=True)
def _knows_all(known: NDArray[np.uint64], member_count: int) -> bool:
    """Whether the first member, if there is one, knows every member."""
    for seat in range(member_count):
        if known[0, seat // BITS] >> np.uint64(seat % BITS) & np.uint64(1) == 0:
            return False
    return True
