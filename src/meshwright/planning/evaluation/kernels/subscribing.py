"""Messages of subscribing, for many pairs of topic and broker at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array, Int64Array
from meshwright.planning.evaluation.kernels.pushes import Rows


class Subscribing(NamedTuple):
    """Who subscribes to what: (pair,) each.

    places: the broker, or its position. own: whether it is a member of the topic already.
    """

    topics: Int64Array
    places: Int64Array
    own: BoolArray


@njit(cache=True)
def climbing_messages(
    parents: Int32Array, below: Int64Array, pairs: Subscribing, is_message: BoolArray
) -> Int64Array:
    """Up to the first position that knows the topic from another broker: (pair,).

    parents: (position,), a top is its own. below: members at or below, (topic, position).
    is_message: whether a step up is one, (position,).
    """
    messages = np.zeros(len(pairs.topics), dtype=np.int64)
    for pair in range(len(messages)):
        topic, position = pairs.topics[pair], pairs.places[pair]
        while parents[position] != position and below[topic, position] == pairs.own[pair]:
            messages[pair] += is_message[position]
            position = parents[position]
    return messages


@njit(cache=True)
def outward_messages(
    joined: Rows, parents: Int32Array, below: Int64Array, pairs: Subscribing
) -> Int64Array:
    """Edges, outward from each broker, that have all other members on their far side: (pair,).

    joined: neighbours on the tree. parents: (broker,), the root's is itself. below: members in the
    subtree of a broker, (broker, topic).
    """
    messages = np.zeros(len(pairs.topics), dtype=np.int64)
    here_pending = np.empty(len(parents), dtype=np.int64)
    source_pending = np.empty(len(parents), dtype=np.int64)
    root = 0
    while parents[root] != root:
        root = parents[root]
    for pair in range(len(messages)):
        topic = pairs.topics[pair]
        everybody = below[root, topic]
        here_pending[0] = source_pending[0] = pairs.places[pair]
        count = 1
        while count > 0:
            count -= 1
            here, source = here_pending[count], source_pending[count]
            for place in range(joined.offsets[here], joined.offsets[here + 1]):
                target = joined.columns[place]
                if target == source:
                    continue
                is_up = parents[here] == target
                behind = everybody - below[here, topic] if is_up else below[target, topic]
                if behind == everybody - pairs.own[pair]:
                    messages[pair] += 1
                    here_pending[count], source_pending[count] = target, here
                    count += 1
    return messages
