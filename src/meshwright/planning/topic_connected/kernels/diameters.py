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
    """Rounds in which every member hears all that its neighbours know, until all know all."""
    member_count = len(brokers)
    word_count = (member_count + BITS - 1) // BITS
    known = np.zeros((member_count, word_count), dtype=np.uint64)
    for seat in range(member_count):
        known[seat, seat // BITS] = np.uint64(1) << np.uint64(seat % BITS)
    complete = np.zeros(word_count, dtype=np.uint64)
    for seat in range(member_count):
        complete |= known[seat]
    hops = 0
    while not _all_know(known, complete):
        heard = known.copy()
        for seat in range(member_count):
            for neighbour in neighbours(adjacency, brokers[seat]):
                if seats[neighbour] >= 0:
                    heard[seat] |= known[seats[neighbour]]
        if np.array_equal(heard, known):
            return -1
        known = heard
        hops += 1
    return hops


@njit(cache=True)
def _all_know(known: NDArray[np.uint64], complete: NDArray[np.uint64]) -> bool:
    for seat in range(len(known)):
        for word in range(len(complete)):
            if known[seat, word] != complete[word]:
                return False
    return True
