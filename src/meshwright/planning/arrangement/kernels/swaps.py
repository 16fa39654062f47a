"""Two brokers swap positions: what it changes, in time that the rest of the network cannot feel.

Only topics wanted by exactly one of the two matter. Delay is read from the assignment costs; a
topic's tree grows from the new place up to the first occupied position, and shrinks from the old
place up to the first position that somebody else holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array


class Tables(NamedTuple):
    """What a search reads and never writes.

    offsets, topics: compressed rows of brokers' interests. member_offsets, members: the same by
    topics. publications: (topic,). trees: the row of `parents` a topic uses, (topic,).
    roots: of each row, (tree,). parents, depths: (tree, position). descents: positions in an order
    in which all that is below one follows it; places: of a position in that order; sizes: how many
    are at or below it; all (tree, position). assignment_costs: a broker's own price of a position,
    that is its weighted delay and whatever else depends on the two alone, (broker, position).
    """

    offsets: Int64Array
    topics: Int32Array
    member_offsets: Int64Array
    members: Int32Array
    publications: Float64Array
    trees: Int32Array
    roots: Int32Array
    parents: Int32Array
    depths: Int32Array
    descents: Int32Array
    places: Int32Array
    sizes: Int32Array
    assignment_costs: Float64Array


class Seating(NamedTuple):
    """Where a search stands; swaps write it.

    positions: (broker,). counts: members at or below a position, (topic, position); the root
    counts one more, for it keeps its own place in the tree.
    relay_costs: publications relayed at a position by a broker that wants none, (position,).
    only_first, only_second: room for the topics in which two brokers differ, (topic,).
    """

    positions: Int32Array
    counts: Int32Array
    relay_costs: Float64Array
    only_first: Int32Array
    only_second: Int32Array


@njit(cache=True)
def seat(tables: Tables, positions: Int32Array) -> Seating:
    """Trees and relays of an arrangement from nothing."""
    topic_count = len(tables.publications)
    counts = np.zeros((topic_count, len(positions)), dtype=np.int32)
    relay_costs = np.zeros(len(positions), dtype=np.float64)
    for topic in range(topic_count):
        counts[topic, tables.roots[tables.trees[topic]]] = 1
    room = np.empty((2, topic_count), dtype=np.int32)
    seating = Seating(positions.copy(), counts, relay_costs, room[0], room[1])
    for broker in range(len(positions)):
        for pair in range(tables.offsets[broker], tables.offsets[broker + 1]):
            enter(tables, seating, tables.topics[pair], positions[broker])
    return seating


@njit(cache=True)
def cost_of(tables: Tables, seating: Seating) -> float:
    """Assignment and relay costs of all brokers."""
    cost = 0.0
    for broker in range(len(seating.positions)):
        cost += broker_cost(tables, seating, broker)
    return cost


@njit(cache=True)
def broker_cost(tables: Tables, seating: Seating, broker: int) -> float:
    """What one broker costs where it sits [DYNATOPS, eq. 9]."""
    position = seating.positions[broker]
    cost: float = seating.relay_costs[position] + tables.assignment_costs[broker, position]
    return cost


@njit(cache=True)
def swap_change(tables: Tables, seating: Seating, first: int, second: int) -> float:
    """By how much the cost would grow if two brokers swapped positions."""
    here, there = seating.positions[first], seating.positions[second]
    costs = tables.assignment_costs
    change: float = costs[first, there] + costs[second, here]
    change -= costs[first, here] + costs[second, there]
    first_count, second_count = differ(tables, seating, first, second)
    for topic in seating.only_first[:first_count]:
        relays = _relays_gained(tables, seating.counts, topic, here, there)
        change += tables.publications[topic] * relays
    for topic in seating.only_second[:second_count]:
        relays = _relays_gained(tables, seating.counts, topic, there, here)
        change += tables.publications[topic] * relays
    return change


@njit(cache=True)
def swap(tables: Tables, seating: Seating, first: int, second: int) -> None:
    """Two brokers swap positions, in place."""
    here, there = seating.positions[first], seating.positions[second]
    first_count, second_count = differ(tables, seating, first, second)
    for topic in seating.only_first[:first_count]:
        leave(tables, seating, topic, here)
        enter(tables, seating, topic, there)
    for topic in seating.only_second[:second_count]:
        leave(tables, seating, topic, there)
        enter(tables, seating, topic, here)
    seating.positions[first], seating.positions[second] = there, here


@njit(cache=True)
def differ(tables: Tables, seating: Seating, first: int, second: int) -> tuple[int, int]:
    """Lists the topics wanted by one of two brokers only; how many there are of each."""
    offsets, topics = tables.offsets, tables.topics
    left, left_end = offsets[first], offsets[first + 1]
    right, right_end = offsets[second], offsets[second + 1]
    first_count = second_count = 0
    while left < left_end and right < right_end:
        if topics[left] == topics[right]:
            left += 1
            right += 1
        elif topics[left] < topics[right]:
            seating.only_first[first_count] = topics[left]
            first_count += 1
            left += 1
        else:
            seating.only_second[second_count] = topics[right]
            second_count += 1
            right += 1
    while left < left_end:
        seating.only_first[first_count] = topics[left]
        first_count += 1
        left += 1
    while right < right_end:
        seating.only_second[second_count] = topics[right]
        second_count += 1
        right += 1
    return first_count, second_count


@njit(cache=True)
def _relays_gained(tables: Tables, counts: Int32Array, topic: int, source: int, target: int) -> int:
    """Unrelated relays gained when one member of a topic moves to a place without a member."""
    tree = tables.trees[topic]
    root = tables.roots[tree]
    gained = 0
    meeting = target
    while counts[topic, meeting] == 0:
        gained += 1
        meeting = tables.parents[tree, meeting]
    above = source
    while counts[topic, above] == 1 and above != meeting:
        gained -= 1
        above = tables.parents[tree, above]
    # Members are no relays, and neither member nor relay is counted at the root.
    gained += int(source != root) - int(target != root)
    return gained


@njit(cache=True)
def enter(tables: Tables, seating: Seating, topic: int, position: int) -> None:
    """A member takes a place that held none: it relays no more, those above may begin to."""
    tree = tables.trees[topic]
    root = tables.roots[tree]
    rate = tables.publications[topic]
    if position != root and seating.counts[topic, position] > 0:
        seating.relay_costs[position] -= rate
    seating.counts[topic, position] += 1
    while position != root:
        position = tables.parents[tree, position]
        if seating.counts[topic, position] == 0:
            seating.relay_costs[position] += rate
        seating.counts[topic, position] += 1


@njit(cache=True)
def leave(tables: Tables, seating: Seating, topic: int, position: int) -> None:
    """A member gives up its place: the exact undoing of `enter`."""
    tree = tables.trees[topic]
    root = tables.roots[tree]
    rate = tables.publications[topic]
    seating.counts[topic, position] -= 1
    if position != root and seating.counts[topic, position] > 0:
        seating.relay_costs[position] += rate
    while position != root:
        position = tables.parents[tree, position]
        seating.counts[topic, position] -= 1
        if seating.counts[topic, position] == 0:
            seating.relay_costs[position] -= rate
