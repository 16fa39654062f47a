"""How far every tree is from every position, kept up to date swap by swap.

It takes two numbers for each topic and position, and little time at each swap: only what is below
positions that a tree takes or gives up changes. In return nobody walks up trees to judge a swap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.planning.arrangement.kernels.swaps import (
    Seating,
    Tables,
    differ,
    enter,
    leave,
    seat,
)


class Reach(NamedTuple):
    """A seating, its trees, and what would come of changes.

    occupants: the broker at a position, (position,).
    growths: positions that a tree would grow by to reach this one, (topic, position). At the root
    it is 1, so that everywhere it is one more than the relays that a member there would need.
    Whole numbers, but floats, as those are added to sums many at once.
    relays_left: relays that would be more if a broker gave up a topic: one at its own place, unless
    that is the root, less all positions that it alone holds; (pair,), as tables.topics.
    place_sums: the positions of the members at or below, added up; of one alone, where it is:
    (topic, position).
    """

    tables: Tables
    seating: Seating
    occupants: Int32Array
    growths: NDArray[np.float32]
    relays_left: Int32Array
    place_sums: Int32Array


@njit(cache=True)
def reach_of(tables: Tables, positions: Int32Array) -> Reach:
    """The reach of an arrangement from nothing."""
    seating = seat(tables, positions)
    shape = seating.counts.shape
    occupants = np.empty(len(positions), dtype=np.int32)
    growths = np.ones(shape, dtype=np.float32)
    relays_left = np.zeros(len(tables.topics), dtype=np.int32)
    place_sums = np.zeros(shape, dtype=np.int32)
    for topic in range(shape[0]):
        tree, counts = tables.trees[topic], seating.counts[topic]
        _measure(growths[topic], counts, tables.parents[tree], tables.descents[tree, 1:])
    for broker in range(len(positions)):
        position = positions[broker]
        occupants[position] = broker
        for pair in range(tables.offsets[broker], tables.offsets[broker + 1]):
            topic = tables.topics[pair]
            root, parents = tables.roots[tables.trees[topic]], tables.parents[tables.trees[topic]]
            held, _ = positions_held(seating.counts[topic], parents, root, position)
            relays_left[pair] = int(position != root) - held
            _add_up(place_sums[topic], parents, root, position, position)
    return Reach(tables, seating, occupants, growths, relays_left, place_sums)


@njit(cache=True)
def swap_within_reach(reach: Reach, first: int, second: int) -> None:
    """Two brokers swap positions, in place."""
    tables, seating = reach.tables, reach.seating
    here, there = seating.positions[first], seating.positions[second]
    first_count, second_count = differ(tables, seating, first, second)
    _exchange_shared(tables.offsets, tables.topics, reach.relays_left, first, second)
    seating.positions[first], seating.positions[second] = there, here
    reach.occupants[here], reach.occupants[there] = second, first
    for topic in seating.only_first[:first_count]:
        _give_up(reach, topic, here)
        _take(reach, topic, there)
    for topic in seating.only_second[:second_count]:
        _give_up(reach, topic, there)
        _take(reach, topic, here)


@njit(cache=True)
def positions_held(
    counts: Int32Array, parents: Int32Array, root: int, position: int
) -> tuple[int, int]:
    """How many positions of a tree from one up are there for one member alone, and the last.

    The root is never among them: it is there for itself.
    """
    held, top = 0, position
    while counts[position] == 1 and position != root:
        held, top = held + 1, position
        position = parents[position]
    return held, top


@njit(cache=True)
def meeting_of(counts: Int32Array, parents: Int32Array, position: int) -> int:
    """The first position of a tree on the way up."""
    while counts[position] == 0:
        position = parents[position]
    return position


@njit(cache=True)
def _take(reach: Reach, topic: int, position: int) -> None:
    """A member comes: what another held alone is held by two."""
    tables, counts, sums = reach.tables, reach.seating.counts[topic], reach.place_sums[topic]
    tree = tables.trees[topic]
    root, parents = tables.roots[tree], tables.parents[tree]
    _share(reach, topic, position, 1)
    enter(tables, reach.seating, topic, position)
    _add_up(sums, parents, root, position, position)
    held, top = positions_held(counts, parents, root, position)
    pair = _pair(tables.offsets, tables.topics, reach.occupants[position], topic)
    reach.relays_left[pair] = int(position != root) - held
    if held > 0:
        _measure(reach.growths[topic], counts, parents, below(tables, tree, top))


@njit(cache=True)
def _give_up(reach: Reach, topic: int, position: int) -> None:
    """A member goes: the undoing of `_take`."""
    tables, counts, sums = reach.tables, reach.seating.counts[topic], reach.place_sums[topic]
    tree = tables.trees[topic]
    root, parents = tables.roots[tree], tables.parents[tree]
    held, top = positions_held(counts, parents, root, position)
    leave(tables, reach.seating, topic, position)
    _add_up(sums, parents, root, position, -position)
    if held > 0:
        _measure(reach.growths[topic], counts, parents, below(tables, tree, top))
    _share(reach, topic, position, -1)


@njit(cache=True)
def _share(reach: Reach, topic: int, position: int, change: int) -> None:
    """Where a way up meets a tree, one member may hold positions alone: with it, or without."""
    tables, counts, tree = reach.tables, reach.seating.counts[topic], reach.tables.trees[topic]
    meeting = meeting_of(counts, tables.parents[tree], position)
    held, _ = positions_held(counts, tables.parents[tree], tables.roots[tree], meeting)
    if held > 0:
        holder = reach.occupants[reach.place_sums[topic, meeting]]
        reach.relays_left[_pair(tables.offsets, tables.topics, holder, topic)] += change * held


@njit(cache=True)
def below(tables: Tables, tree: int, top: int) -> Int32Array:
    """A position and all below it, from there down: (position,)."""
    place = tables.places[tree, top]
    return tables.descents[tree, place : place + tables.sizes[tree, top]]


@njit(cache=True)
def _exchange_shared(
    offsets: Int64Array, topics: Int32Array, relays_left: Int32Array, first: int, second: int
) -> None:
    """Of topics that two brokers want both, each takes over what the other had."""
    other, other_end = offsets[second], offsets[second + 1]
    for pair in range(offsets[first], offsets[first + 1]):
        while other < other_end and topics[other] < topics[pair]:
            other += 1
        if other < other_end and topics[other] == topics[pair]:
            relays_left[pair], relays_left[other] = relays_left[other], relays_left[pair]


@njit(cache=True)
def _pair(offsets: Int64Array, topics: Int32Array, broker: int, topic: int) -> int:
    """The pair of a broker and a topic that it wants."""
    begin = offsets[broker]
    return int(begin + np.searchsorted(topics[begin : offsets[broker + 1]], topic))


@njit(cache=True)
def _add_up(sums: Int32Array, parents: Int32Array, root: int, position: int, place: int) -> None:
    sums[position] += place
    while position != root:
        position = parents[position]
        sums[position] += place


@njit(cache=True)
def _measure(
    growths: NDArray[np.float32], counts: Int32Array, parents: Int32Array, positions: Int32Array
) -> None:
    """Growths at positions that are not the root, each after the one above it."""
    for position in positions:
        if counts[position] > 0:
            growths[position] = 0
        elif counts[parents[position]] > 0:
            growths[position] = 1
        else:
            growths[position] = growths[parents[position]] + 1
