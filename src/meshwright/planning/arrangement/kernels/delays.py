"""The same searches where delays between brokers are known, and it counts who sits on the way.

A swap then changes not only where two brokers are, but also what the hops at two positions cost for
all that pass there, added up over trees. Relays and prices are judged as they are without delays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array, Int64Array
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


class Hops(NamedTuple):
    """The hops of all trees: a hop from one position to another is the same in each that takes it.

    numbers: of the hop from above down to a position, (tree, position); at a root it means nothing.
    aboves, belows: its ends, (hop,). offsets, touching: compressed rows of the hops that begin or
    end at a position.
    """

    numbers: Int32Array
    aboves: Int32Array
    belows: Int32Array
    offsets: Int64Array
    touching: Int32Array


class DelayTables(NamedTuple):
    """What a search reads and never writes.

    tables: with no delay in the assignment costs. hop_costs: the weighted cost of a hop from one
    broker to another, (broker, broker).
    """

    tables: Tables
    hop_costs: Float64Array
    hops: Hops


class Ways(NamedTuple):
    """Who passes where; swaps write it.

    occupants: the broker at a position, (position,). flows: publications that all trees carry over
    a hop to members below it, (hop,).
    """

    occupants: Int32Array
    flows: Float64Array


def hops_of(parents: Int32Array) -> Hops:
    """The hops of trees, from the position above each, (tree, position)."""
    positions = np.arange(parents.shape[1])
    pairs, numbers = np.unique(parents * len(positions) + positions, return_inverse=True)
    aboves, belows = np.divmod(pairs, len(positions))
    real = np.flatnonzero(aboves != belows)
    ends = np.concatenate([aboves[real], belows[real]])
    by_end = np.argsort(ends, kind="stable")
    return Hops(
        numbers.reshape(parents.shape).astype(np.int32),
        aboves.astype(np.int32),
        belows.astype(np.int32),
        np.searchsorted(ends[by_end], np.arange(len(positions) + 1)),
        np.tile(real, 2)[by_end].astype(np.int32),
    )


@njit(cache=True)
def greedy_by_delays(known: DelayTables, start: Int32Array, tries: int) -> Int32Array:
    """Swaps of the bottleneck broker, as `greedy` has them: (swap, 2)."""
    tables = known.tables
    reach = reach_of(tables, start)
    ways = ways_of(known, reach.seating)
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
        _follow(known, reach.seating, ways, first, second)
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
    ways = ways_of(known, seating)
    for proposal in range(len(proposals)):
        first, second = proposals[proposal, 0], proposals[proposal, 1]
        change = swap_change(tables, seating, first, second)
        if change + delay_change(known, seating, ways, first, second) < patience[proposal]:
            _follow(known, seating, ways, first, second)
            swap(tables, seating, first, second)
    return seating.positions


@njit(cache=True)
def walk_costs_by_delays(known: DelayTables, start: Int32Array, swaps: Int32Array) -> Float64Array:
    """Cost at the start and after each of the swaps: (swap + 1,)."""
    tables = known.tables
    seating = seat(tables, start)
    ways = ways_of(known, seating)
    costs = np.empty(len(swaps) + 1, dtype=np.float64)
    costs[0] = _whole_cost(known, seating, ways)
    for index in range(len(swaps)):
        first, second = swaps[index, 0], swaps[index, 1]
        costs[index + 1] = costs[index] + swap_change(tables, seating, first, second)
        costs[index + 1] += delay_change(known, seating, ways, first, second)
        _follow(known, seating, ways, first, second)
        swap(tables, seating, first, second)
    return costs


@njit(cache=True)
def ways_of(known: DelayTables, seating: Seating) -> Ways:
    """Who passes where, from nothing."""
    tables = known.tables
    occupants = np.empty(len(seating.positions), dtype=np.int32)
    flows = np.zeros(len(known.hops.aboves), dtype=np.float64)
    for broker in range(len(occupants)):
        position = seating.positions[broker]
        occupants[position] = broker
        for pair in range(tables.offsets[broker], tables.offsets[broker + 1]):
            topic = tables.topics[pair]
            _add_flow(known, flows, topic, position, tables.publications[topic])
    return Ways(occupants, flows)


@njit(cache=True)
def delay_change(
    known: DelayTables, seating: Seating, ways: Ways, first: int, second: int
) -> float:
    """By how much delays would cost more if two brokers swapped positions.

    First the two change seats on the ways of all, then each takes along the topics that the other
    does not want. Seats are undone in the end.
    """
    here, there = seating.positions[first], seating.positions[second]
    first_count, second_count = differ(known.tables, seating, first, second)
    occupants = ways.occupants
    change = -_touching_cost(known, ways, here, there)
    occupants[here], occupants[there] = second, first
    change += _touching_cost(known, ways, here, there)
    for topic in seating.only_first[:first_count]:
        change += _shift(known, ways, topic, here, there)
    for topic in seating.only_second[:second_count]:
        change += _shift(known, ways, topic, there, here)
    occupants[here], occupants[there] = first, second
    return change


@njit(cache=True)
def _follow(known: DelayTables, seating: Seating, ways: Ways, first: int, second: int) -> None:
    """Two brokers are about to swap positions: flows and occupants as they will be."""
    here, there = seating.positions[first], seating.positions[second]
    first_count, second_count = differ(known.tables, seating, first, second)
    for topic in seating.only_first[:first_count]:
        _flow_between(known, ways.flows, topic, here, there)
    for topic in seating.only_second[:second_count]:
        _flow_between(known, ways.flows, topic, there, here)
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
    """What it costs more that a member of a topic is at another place."""
    tree = known.tables.trees[topic]
    more = _way_cost(known, ways, tree, target) - _way_cost(known, ways, tree, source)
    return float(known.tables.publications[topic] * more)


@njit(cache=True)
def _flow_between(
    known: DelayTables, flows: Float64Array, topic: int, source: int, target: int
) -> None:
    rate = known.tables.publications[topic]
    _add_flow(known, flows, topic, source, -rate)
    _add_flow(known, flows, topic, target, rate)


@njit(cache=True)
def _add_flow(
    known: DelayTables, flows: Float64Array, topic: int, position: int, rate: float
) -> None:
    """A member more, or fewer, at a position."""
    tree = known.tables.trees[topic]
    numbers, aboves, root = known.hops.numbers[tree], known.hops.aboves, known.tables.roots[tree]
    while position != root:
        hop = numbers[position]
        flows[hop] += rate
        position = aboves[hop]


@njit(cache=True)
def _touching_cost(known: DelayTables, ways: Ways, here: int, there: int) -> float:
    """What all that flows over the hops at two positions costs."""
    return _hops_at(known, ways, here, -1) + _hops_at(known, ways, there, here)


@njit(cache=True)
def _hops_at(known: DelayTables, ways: Ways, position: int, counted: int) -> float:
    """What all that flows over the hops at a position costs, but for those at a counted one."""
    hops, occupants = known.hops, ways.occupants
    cost = 0.0
    for hop in hops.touching[hops.offsets[position] : hops.offsets[position + 1]]:
        above, below = hops.aboves[hop], hops.belows[hop]
        if counted not in (above, below):
            cost += ways.flows[hop] * known.hop_costs[occupants[above], occupants[below]]
    return cost
