"""Topic trees on key geometries, walked without ever being laid out as matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array


class TopicTrees(NamedTuple):
    """Trees that many topics share, and the positions of the topics' members.

    parents: (tree, position), a root is its own. trees: (topic,). offsets: (topic + 1,), and
    positions: (pair,), the members of a topic.
    """

    parents: Int32Array
    trees: Int64Array
    offsets: Int64Array
    positions: Int32Array


@njit(cache=True)
def tree_sizes(topics: TopicTrees) -> Int64Array:
    """Positions in the tree of each topic, the root left out: (topic,)."""
    sizes = np.zeros(len(topics.trees), dtype=np.int64)
    last_seen = np.full(topics.parents.shape[1], -1, dtype=np.int64)
    for topic in range(len(sizes)):
        parents = topics.parents[topics.trees[topic]]
        for pair in range(topics.offsets[topic], topics.offsets[topic + 1]):
            position = topics.positions[pair]
            while parents[position] != position and last_seen[position] != topic:
                last_seen[position] = topic
                sizes[topic] += 1
                position = parents[position]
    return sizes


@njit(cache=True)
def joining_messages(
    topics: TopicTrees, pair_topics: Int64Array, pair_positions: Int32Array
) -> Int64Array:
    """Steps up to the first position that the other members' routes pass: (pair,).

    Pairs of one topic stand together; those that do not are as right, but take longer.
    """
    messages = np.zeros(len(pair_topics), dtype=np.int64)
    below = np.zeros(topics.parents.shape[1], dtype=np.int64)
    is_member = np.zeros(topics.parents.shape[1], dtype=np.bool_)
    known = -1
    for pair in range(len(pair_topics)):
        topic = pair_topics[pair]
        parents = topics.parents[topics.trees[topic]]
        if topic != known:
            below[:] = 0
            is_member[:] = False
            for member in range(topics.offsets[topic], topics.offsets[topic + 1]):
                position = topics.positions[member]
                is_member[position] = True
                below[position] += 1
                while parents[position] != position:
                    position = parents[position]
                    below[position] += 1
            known = topic
        position = pair_positions[pair]
        own = np.int64(is_member[position])
        while parents[position] != position and below[position] == own:
            messages[pair] += 1
            position = parents[position]
    return messages


@njit(cache=True)
def way_delays(parents: Int32Array, brokers: Int32Array, delays_ms: Float64Array) -> Float64Array:
    """Delays from every position up to its root: (tree, position).

    brokers: who sits at a position, (position,). delays_ms: from the lower to the upper broker.
    """
    tree_count, position_count = parents.shape
    delays = np.full((tree_count, position_count), -1.0, dtype=np.float64)
    way = np.empty(position_count, dtype=np.int64)
    for tree in range(tree_count):
        for start in range(position_count):
            position = start
            length = 0
            while delays[tree, position] < 0.0:
                if parents[tree, position] == position:
                    delays[tree, position] = 0.0
                    break
                way[length] = position
                length += 1
                position = parents[tree, position]
            for step in range(length - 1, -1, -1):
                lower, upper = way[step], parents[tree, way[step]]
                hop_ms = delays_ms[brokers[lower], brokers[upper]]
                delays[tree, lower] = delays[tree, upper] + hop_ms
    return delays


@njit(cache=True)
def ways_through(parents: Int32Array) -> Int64Array:
    """Ways to the root that begin at or pass each position but the root: (tree, position)."""
    tree_count, position_count = parents.shape
    ways = np.zeros((tree_count, position_count), dtype=np.int64)
    for tree in range(tree_count):
        above, count = parents[tree], ways[tree]
        for start in range(position_count):
            position = start
            while above[position] != position:
                count[position] += 1
                position = above[position]
    return ways
