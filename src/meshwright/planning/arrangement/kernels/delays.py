"""The same searches where delays between brokers are known, and it counts who sits on the way.

A swap then changes not only where two brokers are, but also what the hops at two positions of every
tree cost for all that pass there. Relays and prices are judged as they are without delays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.partners import partner_changes
from meshwright.planning.arrangement.kernels.reach import reach_of, swap_within_reach
from meshwright.planning.arrangement.kernels.search import ROUNDING_SHARE
from meshwright.planning.arrangement.kernels.swaps import (
    Seating,
    Tables,
    broker_cost,
    cost_of,
    differ,
    seat,
    swap,
    swap_change,
)


class DelayTables(NamedTuple):
    """What a search reads and never writes.

    tables: with no delay in the assignment costs. hop_costs: the weighted cost of a hop from one
    broker to another, (broker, broker).
    """

    tables: Tables
    hop_costs: Float64Array


class Ways(NamedTuple):
    """Who passes where; swaps write it.

    occupants: the broker at a position, (position,). flows: publications that a tree carries to
    members at or below a position, (tree, position).
    """

    occupants: Int32Array
    flows: Float64Array


@njit(cache=True)
def greedy_by_delays(known: DelayTables, start: Int32Array, tries: int) -> Int32Array:
    """Swaps of the bottleneck broker, as `greedy` has them: (swap, 2)."""
    tables = known.tables
    reach = reach_of(tables, start)
    ways = ways_of(tables, reach.seating)
    gain_min = ROUNDING_SHARE * _whole_cost(known, reach.seating, ways)
    swaps = np.empty((len(start), 2), dtype=np.int32)
    swap_count = 0
    stands_back = np.zeros(len(start), dtype=np.bool_)
    while tries > 0:
        first = _costliest(known, reach.seating, ways, stands_back)
        if first < 0:
            break
        changes = partner_changes(reach, first)
        for second in range(len(start)):
            if second != first:
                changes[second] += delay_change(known, reach.seating, ways, first, second)
        changes[first] = np.inf
        second = int(np.argmin(changes))
        if changes[second] >= -gain_min:
            stands_back[first] = True
            tries -= 1
            continue
        if swap_count == len(swaps):
            swaps = np.concatenate((swaps, np.empty_like(swaps)))
        swaps[swap_count] = first, second
        swap_count += 1
        _follow(tables, reach.seating, ways, first, second)
        swap_within_reach(reach, first, second)
        stands_back[second] = False
    return swaps[:swap_count].copy()


@njit(cache=True)
def anneal_by_delays(
    known: DelayTables, start: Int32Array, proposals: Int32Array, patience: Float64Array
) -> Int32Array:
    """Positions after every proposed swap that costs less than its patience was made: (broker,)."""
    tables = known.tables
    seating = seat(tables, start)
    ways = ways_of(tables, seating)
    for proposal in range(len(proposals)):
        first, second = proposals[proposal, 0], proposals[proposal, 1]
        change = swap_change(tables, seating, first, second)
        if change + delay_change(known, seating, ways, first, second) < patience[proposal]:
            _follow(tables, seating, ways, first, second)
            swap(tables, seating, first, second)
    return seating.positions


@njit(cache=True)
def walk_costs_by_delays(known: DelayTables, start: Int32Array, swaps: Int32Array) -> Float64Array:
    """Cost at the start and after each of the swaps: (swap + 1,)."""
    tables = known.tables
    seating = seat(tables, start)
    ways = ways_of(tables, seating)
    costs = np.empty(len(swaps) + 1, dtype=np.float64)
    costs[0] = _whole_cost(known, seating, ways)
    for index in range(len(swaps)):
        first, second = swaps[index, 0], swaps[index, 1]
        costs[index + 1] = costs[index] + swap_change(tables, seating, first, second)
        costs[index + 1] += delay_change(known, seating, ways, first, second)
        _follow(tables, seating, ways, first, second)
        swap(tables, seating, first, second)
    return costs


@njit(cache=True)
def ways_of(tables: Tables, seating: Seating) -> Ways:
    """Who passes where, from nothing."""
    count = len(seating.positions)
    occupants = np.empty(count, dtype=np.int32)
    flows = np.zeros((len(tables.roots), count), dtype=np.float64)
    for broker in range(count):
        position = seating.positions[broker]
        occupants[position] = broker
        for pair in range(tables.offsets[broker], tables.offsets[broker + 1]):
            topic = tables.topics[pair]
            _add_flow(tables, flows, tables.trees[topic], position, tables.publications[topic])
    return Ways(occupants, flows)


@njit(cache=True)
def delay_change(
    known: DelayTables, seating: Seating, ways: Ways, first: int, second: int
) -> float:
    """By how much delays would cost more if two brokers swapped positions.

    First members change places while everybody sits where it does, then the two change seats on the
    ways of all. Both are undone in the end.
    """
    tables = known.tables
    here, there = seating.positions[first], seating.positions[second]
    first_count, second_count = differ(tables, seating, first, second)
    change = 0.0
    for topic in seating.only_first[:first_count]:
        change += _shift(known, ways, topic, here, there)
    for topic in seating.only_second[:second_count]:
        change += _shift(known, ways, topic, there, here)
    for tree in range(len(tables.roots)):
        change += _reseat(known, ways, tree, here, there)
    for topic in seating.only_first[:first_count]:
        _flow_between(tables, ways.flows, topic, there, here)
    for topic in seating.only_second[:second_count]:
        _flow_between(tables, ways.flows, topic, here, there)
    return change


@njit(cache=True)
def _follow(tables: Tables, seating: Seating, ways: Ways, first: int, second: int) -> None:
    """Two brokers are about to swap positions: flows and occupants as they will be."""
    here, there = seating.positions[first], seating.positions[second]
    first_count, second_count = differ(tables, seating, first, second)
    for topic in seating.only_first[:first_count]:
        _flow_between(tables, ways.flows, topic, here, there)
    for topic in seating.only_second[:second_count]:
        _flow_between(tables, ways.flows, topic, there, here)
    ways.occupants[here], ways.occupants[there] = second, first


@njit(cache=True)
def _whole_cost(known: DelayTables, seating: Seating, ways: Ways) -> float:
    cost = cost_of(known.tables, seating)
    for broker in range(len(seating.positions)):
        cost += _delay_cost(known, seating, ways, broker)
    return cost


@njit(cache=True)
def _delay_cost(known: DelayTables, seating: Seating, ways: Ways, broker: int) -> float:
    """What the ways of a broker's topics to it cost."""
    tables, position = known.tables, seating.positions[broker]
    cost = 0.0
    for pair in range(tables.offsets[broker], tables.offsets[broker + 1]):
        topic = tables.topics[pair]
        way = _way_cost(known, ways, tables.trees[topic], position)
        cost += tables.publications[topic] * way
    return cost


@njit(cache=True)
def _costliest(known: DelayTables, seating: Seating, ways: Ways, stands_back: BoolArray) -> int:
    """The broker of largest cost among those that do not stand back; -1 if all do."""
    costliest, cost_max = -1, -np.inf
    for broker in range(len(stands_back)):
        if not stands_back[broker]:
            cost = broker_cost(known.tables, seating, broker)
            cost += _delay_cost(known, seating, ways, broker)
            if cost > cost_max:
                costliest, cost_max = broker, cost
    return costliest


@njit(cache=True)
def _way_cost(known: DelayTables, ways: Ways, tree: int, position: int) -> float:
    """What the hops from a tree's root down to a position cost, by who sits on the way."""
    parents, root = known.tables.parents[tree], known.tables.roots[tree]
    cost = 0.0
    while position != root:
        above = parents[position]
        cost += known.hop_costs[ways.occupants[above], ways.occupants[position]]
        position = above
    return cost


@njit(cache=True)
def _shift(known: DelayTables, ways: Ways, topic: int, source: int, target: int) -> float:
    """A member of a topic changes place: its own way is another."""
    tree = known.tables.trees[topic]
    _flow_between(known.tables, ways.flows, topic, source, target)
    more = _way_cost(known, ways, tree, target) - _way_cost(known, ways, tree, source)
    return float(known.tables.publications[topic] * more)


@njit(cache=True)
def _flow_between(
    tables: Tables, flows: Float64Array, topic: int, source: int, target: int
) -> None:
    tree, rate = tables.trees[topic], tables.publications[topic]
    _add_flow(tables, flows, tree, source, -rate)
    _add_flow(tables, flows, tree, target, rate)


@njit(cache=True)
def _add_flow(tables: Tables, flows: Float64Array, tree: int, position: int, rate: float) -> None:
    """A member more, or fewer, at a position."""
    parents, root = tables.parents[tree], tables.roots[tree]
    while position != root:
        flows[tree, position] += rate
        position = parents[position]


@njit(cache=True)
def _reseat(known: DelayTables, ways: Ways, tree: int, here: int, there: int) -> float:
    """The brokers at two positions change seats in one tree: hops to and from them change."""
    occupants = ways.occupants
    before = _hops_at(known, ways, tree, here, -1) + _hops_at(known, ways, tree, there, here)
    occupants[here], occupants[there] = occupants[there], occupants[here]
    after = _hops_at(known, ways, tree, here, -1) + _hops_at(known, ways, tree, there, here)
    occupants[here], occupants[there] = occupants[there], occupants[here]
    return after - before


@njit(cache=True)
def _hops_at(known: DelayTables, ways: Ways, tree: int, position: int, counted: int) -> float:
    """What all that flows over the hops at a position costs, but for the hop to a counted one."""
    tables, occupants, flows = known.tables, ways.occupants, ways.flows[tree]
    parents, me = tables.parents[tree], occupants[position]
    cost = 0.0
    if position != tables.roots[tree] and parents[position] != counted:
        cost += flows[position] * known.hop_costs[occupants[parents[position]], me]
    place = tables.places[tree, position] + 1
    end = place - 1 + tables.sizes[tree, position]
    while place < end:
        child = tables.descents[tree, place]
        if child != counted:
            cost += flows[child] * known.hop_costs[me, occupants[child]]
        place += tables.sizes[tree, child]
    return cost
