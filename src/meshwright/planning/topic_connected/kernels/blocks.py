"""Greedy on blocks: a pair scores one for each shared topic where no block holds both [GM2].

Each topic keeps a rooted block-cut forest: a vertex (slot) knows its parent block, a block its top
vertex. A link between two trees is a new block; a link inside a tree glues all blocks on the path
between its ends, and one walk over the topic's slots finds their vertices.
"""

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

NONE = -1


class Forest(NamedTuple):
    """The block-cut forests of all topics; arrays have one cell a slot unless said otherwise.

    trees and tree_sizes: union-find of the trees. parent_blocks: of a vertex, NONE at a root.
    tops and sizes: by block, its top vertex and the number of its other vertices. vertex_marks and
    block_marks: the last search that passed. path: room for blocks. starts: where the vertices of a
    block on the path begin in `gathered`, by block. gathered: room for brokers, (broker,).
    """

    trees: Int32Array
    tree_sizes: Int32Array
    parent_blocks: Int32Array
    tops: Int32Array
    sizes: Int32Array
    vertex_marks: Int32Array
    block_marks: Int32Array
    path: Int32Array
    starts: Int32Array
    gathered: Int32Array


@njit(cache=True)
def biconnect_topics(members: Membership, scores: NDArray[Any], tie: int) -> Int32Array:
    """Links that make every topic one block, in order of addition.

    scores: all zero, signed, (broker, broker); used up.
    """
    pair_count = len(members.slot_brokers)
    forest = _bare_forest(pair_count, len(scores))
    shared = shared_buffer(members)
    count_shared_topics(members, scores, 1)
    scan = new_scan(scores, np.zeros(len(scores), dtype=np.int32), tie)
    links = np.empty((2 * pair_count, 2), dtype=np.int32)
    link_count = 0
    search = 0
    while True:
        left, right = next_pair(scan, tie)
        if left < 0:
            return links[:link_count]
        links[link_count, 0] = left
        links[link_count, 1] = right
        link_count += 1
        for index in range(shared_topics(members, left, right, shared)):
            topic, a, b = shared[0, index], shared[1, index], shared[2, index]
            tree_a, tree_b = _found(forest.trees, a), _found(forest.trees, b)
            if tree_a != tree_b:
                scores[left, right] -= 1
                _hang(forest, a, b)
                continue
            search += 1
            count = _blocks_between(forest, a, b, search)
            if count > 1:
                _glue(forest, members, scores, topic, count)


@njit(cache=True)
def _bare_forest(pair_count: int, broker_count: int) -> Forest:
    return Forest(
        trees=np.arange(pair_count, dtype=np.int32),
        tree_sizes=np.ones(pair_count, dtype=np.int32),
        parent_blocks=np.full(pair_count, NONE, dtype=np.int32),
        tops=np.zeros(pair_count, dtype=np.int32),
        sizes=np.zeros(pair_count, dtype=np.int32),
        vertex_marks=np.zeros(pair_count, dtype=np.int32),
        block_marks=np.zeros(pair_count, dtype=np.int32),
        path=np.empty(broker_count, dtype=np.int32),
        starts=np.full(pair_count, NONE, dtype=np.int32),
        gathered=np.empty(broker_count, dtype=np.int32),
    )


@njit(cache=True)
def _found(parents: Int32Array, item: int) -> int:
    """The representative of a union-find set, halving the path to it."""
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item


@njit(cache=True)
def _hang(forest: Forest, upper: int, lower: int) -> None:
    """Join two trees by a block of two vertices; the smaller tree hangs below.

    The lost tree's label is never used again for a tree, so it names the new block.
    """
    tree, lost = _found(forest.trees, upper), _found(forest.trees, lower)
    if forest.tree_sizes[tree] < forest.tree_sizes[lost]:
        tree, lost, upper, lower = lost, tree, lower, upper
    forest.trees[lost] = tree
    forest.tree_sizes[tree] += forest.tree_sizes[lost]
    vertex, parent = lower, lost
    forest.sizes[lost] = 1
    above = upper
    # Turn the hanging tree so that `lower` is its root: each block on the way hands its top down.
    while True:
        block = forest.parent_blocks[vertex]
        forest.parent_blocks[vertex] = parent
        forest.tops[parent] = above
        if block == NONE:
            return
        above, vertex, parent = vertex, forest.tops[block], block


@njit(cache=True)
def _blocks_between(forest: Forest, left: int, right: int, search: int) -> int:
    """How many blocks lie on the path between two vertices of a tree; `path` lists them.

    The last of them has the highest top.
    """
    vertex, other = left, right
    forest.vertex_marks[left] = search
    forest.vertex_marks[right] = search
    meeting_block = NONE
    while True:
        block = forest.parent_blocks[vertex]
        if block != NONE:
            if forest.block_marks[block] == search:
                meeting_block = block
                break
            forest.block_marks[block] = search
            vertex = forest.tops[block]
            if forest.vertex_marks[vertex] == search:
                break
            forest.vertex_marks[vertex] = search
        vertex, other = other, vertex
    count = 0
    for start in (left, right):
        climbing = start
        while climbing != vertex or meeting_block != NONE:
            block = forest.parent_blocks[climbing]
            if block == meeting_block:
                break
            forest.path[count] = block
            count += 1
            climbing = forest.tops[block]
    if meeting_block != NONE:
        forest.path[count] = meeting_block
        count += 1
    return count


@njit(cache=True)
def _glue(
    forest: Forest, members: Membership, scores: NDArray[Any], topic: int, count: int
) -> None:
    """Make one block of those on the path and lower every pair that now first shares a block."""
    path = forest.path
    top = forest.tops[path[count - 1]]
    total = _gather(forest, members, topic, count)
    _lower_newly_joined(forest, members.slot_brokers, scores, top, count)
    for index in range(count):
        forest.starts[path[index]] = NONE
    forest.tops[path[count - 1]] = top
    forest.sizes[path[count - 1]] = total


@njit(cache=True)
def _gather(forest: Forest, members: Membership, topic: int, count: int) -> int:
    """Collect the brokers of the blocks on the path, block by block, the largest block last.

    Their vertices move to that block; the number of brokers is returned.
    """
    path, starts, sizes = forest.path, forest.starts, forest.sizes
    for index in range(count - 1):
        if sizes[path[index]] > sizes[path[count - 1]]:
            path[index], path[count - 1] = path[count - 1], path[index]
    total = 0
    for index in range(count):
        starts[path[index]] = total
        total += sizes[path[index]]
    for slot in range(members.topic_offsets[topic], members.topic_offsets[topic + 1]):
        block = forest.parent_blocks[slot]
        if block != NONE and starts[block] != NONE:
            forest.gathered[starts[block]] = members.slot_brokers[slot]
            starts[block] += 1
            forest.parent_blocks[slot] = path[count - 1]
    return total


@njit(cache=True)
def _lower_newly_joined(
    forest: Forest, slot_brokers: Int32Array, scores: NDArray[Any], top: int, count: int
) -> None:
    """Lower the pairs of different blocks on the path.

    A block's top is gathered with the block above it, though the two shared a block before: those
    pairs are raised again; instead the highest top, which is gathered with none, is newly joined.
    """
    total = forest.starts[forest.path[count - 1]]
    start = 0
    for index in range(count):
        block = forest.path[index]
        end = start + forest.sizes[block]
        others = forest.gathered[end:total]
        for broker in forest.gathered[start:end]:
            row = scores[broker]
            for other in others:
                row[other] -= 1
        if forest.tops[block] != top:
            shared_before = slot_brokers[forest.tops[block]]
            newly_shared = slot_brokers[top]
            for broker in forest.gathered[start:end]:
                scores[shared_before, broker] += 1
                scores[newly_shared, broker] -= 1
        start = end
