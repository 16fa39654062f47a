"""Who wants what, laid out both ways for kernels: by broker, and by topic as numbered slots.

A slot is one (topic, broker) pair; the slots of a topic are consecutive, brokers ascending.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array, Interests


class Membership(NamedTuple):
    """Interests as kernels read them.

    broker_topics and broker_slots: the topics of a broker, ascending, and its slot in each, from
    broker_offsets[broker] on. slot_brokers: the members of a topic from topic_offsets[topic] on.
    """

    broker_offsets: Int64Array
    broker_topics: Int32Array
    broker_slots: Int32Array
    topic_offsets: Int64Array
    slot_brokers: Int32Array


def membership_of(interests: Interests) -> Membership:
    """The layout of some interests; fresh arrays, so that every kernel sees one array type."""
    by_topic = np.argsort(interests.columns, kind="stable")
    slots = np.empty(interests.pair_count, dtype=np.int32)
    slots[by_topic] = np.arange(interests.pair_count, dtype=np.int32)
    topic_offsets = np.zeros(interests.column_count + 1, dtype=np.int64)
    np.cumsum(
        np.bincount(interests.columns, minlength=interests.column_count), out=topic_offsets[1:]
    )
    return Membership(
        broker_offsets=interests.offsets.copy(),
        broker_topics=interests.columns.copy(),
        broker_slots=slots,
        topic_offsets=topic_offsets,
        slot_brokers=interests.row_of_pairs()[by_topic],
    )


@njit(cache=True)
def shared_topics(members: Membership, left: int, right: int, shared: Int32Array) -> int:
    """How many topics two brokers share; shared rows: topic, left's slot, right's slot."""
    count = 0
    i = members.broker_offsets[left]
    j = members.broker_offsets[right]
    while i < members.broker_offsets[left + 1] and j < members.broker_offsets[right + 1]:
        difference = members.broker_topics[i] - members.broker_topics[j]
        if difference == 0:
            shared[0, count] = members.broker_topics[i]
            shared[1, count] = members.broker_slots[i]
            shared[2, count] = members.broker_slots[j]
            count += 1
        i += difference <= 0
        j += difference >= 0
    return count


@njit(cache=True)
def shared_buffer(members: Membership) -> Int32Array:
    """Room for the topics that any two brokers can share."""
    most = 0
    for broker in range(len(members.broker_offsets) - 1):
        most = max(most, members.broker_offsets[broker + 1] - members.broker_offsets[broker])
    return np.empty((3, most), dtype=np.int32)


@njit(cache=True)
def count_link_topics(members: Membership, links: Int32Array) -> Int32Array:
    """How many topics the ends of each link share: (link,)."""
    shared = shared_buffer(members)
    counts = np.empty(len(links), dtype=np.int32)
    for index in range(len(links)):
        counts[index] = shared_topics(members, links[index, 0], links[index, 1], shared)
    return counts
