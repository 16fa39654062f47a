"""Greedy on connectivity: a pair scores one for each shared topic that it would join [GM]."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Components(NamedTuple):
    """The components of every topic.

    labels: the component of each slot, named by one of its slots. sizes: by label. lost and kept:
    room for the brokers of two components.
    """

    labels: Int32Array
    sizes: Int32Array
    lost: Int32Array
    kept: Int32Array


@njit(cache=True)
def connect_topics(
    members: Membership, scores: NDArray[Any], standing: Int32Array, tie: int
) -> Int32Array:
    """Links that make every topic connected, beside the standing ones, in order of addition.

    scores: all zero, signed, (broker, broker); used up.
    """
    pair_count = len(members.slot_brokers)
    components = Components(
        labels=np.arange(pair_count, dtype=np.int32),
        sizes=np.ones(pair_count, dtype=np.int32),
        lost=np.empty(len(scores), dtype=np.int32),
        kept=np.empty(len(scores), dtype=np.int32),
    )
    shared = shared_buffer(members)
    degrees = np.zeros(len(scores), dtype=np.int32)
    count_shared_topics(members, scores, 1)
    for index in range(len(standing)):
        left, right = standing[index]
        degrees[left] += 1
        degrees[right] += 1
        count = shared_topics(members, left, right, shared)
        _join(components, members, scores, shared[:, :count])
    scan = new_scan(scores, degrees, tie)
    links = np.empty((pair_count, 2), dtype=np.int32)
    link_count = 0
    while True:
        left, right = next_pair(scan, tie)
        if left < 0:
            return links[:link_count]
        links[link_count, 0] = left
        links[link_count, 1] = right
        link_count += 1
        count = shared_topics(members, left, right, shared)
        _join(components, members, scores, shared[:, :count])


@njit(cache=True)
def _join(
    components: Components, members: Membership, scores: NDArray[Any], shared: Int32Array
) -> None:
    """Merge the components of a new link's ends in every topic that they share."""
    labels, sizes, lost_brokers, kept_brokers = components
    for index in range(shared.shape[1]):
        kept, lost = labels[shared[1, index]], labels[shared[2, index]]
        if kept == lost:
            continue
        if sizes[kept] < sizes[lost]:
            kept, lost = lost, kept
        kept_count = 0
        lost_count = 0
        topic = shared[0, index]
        for slot in range(members.topic_offsets[topic], members.topic_offsets[topic + 1]):
            if labels[slot] == kept:
                kept_brokers[kept_count] = members.slot_brokers[slot]
                kept_count += 1
            elif labels[slot] == lost:
                lost_brokers[lost_count] = members.slot_brokers[slot]
                lost_count += 1
                labels[slot] = kept
        sizes[kept] += sizes[lost]
        for lost_broker in lost_brokers[:lost_count]:
            for kept_broker in kept_brokers[:kept_count]:
                scores[lost_broker, kept_broker] -= 1
