"""Who passes where in the trees, and what a swap of two brokers changes of delays.

A swap changes not only where two brokers are, but also what the hops at two positions cost for all
that pass there, added up over trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.swaps import Seating, Tables, differ


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
    does not want.
    """
    here, there = seating.positions[first], seating.positions[second]
    change = seats_change(known, ways, here, there)
    first_count, second_count = differ(known.tables, seating, first, second)
    exchange(ways.occupants, here, there)
    for topic in seating.only_first[:first_count]:
        change += _shift(known, ways, topic, here, there)
    for topic in seating.only_second[:second_count]:
        change += _shift(known, ways, topic, there, here)
    exchange(ways.occupants, here, there)
    return float(change)


@njit(cache=True)
def seats_change(known: DelayTables, ways: Ways, here: int, there: int) -> float:
    """What all that passes two positions would pay more if their brokers changed seats."""
    before = _hops_at(known, ways, here, -1) + _hops_at(known, ways, there, here)
    exchange(ways.occupants, here, there)
    after = _hops_at(known, ways, here, -1) + _hops_at(known, ways, there, here)
    exchange(ways.occupants, here, there)
    return float(after - before)


@njit(cache=True)
def exchange(occupants: Int32Array, here: int, there: int) -> None:
    """The brokers at two positions change seats, in place."""
    occupants[here], occupants[there] = occupants[there], occupants[here]


@njit(cache=True)
def follow(known: DelayTables, seating: Seating, ways: Ways, first: int, second: int) -> None:
    """Two brokers are about to swap positions: flows and occupants as they will be."""
    here, there = seating.positions[first], seating.positions[second]
    first_count, second_count = differ(known.tables, seating, first, second)
    for topic in seating.only_first[:first_count]:
        _flow_between(known, ways.flows, topic, here, there)
    for topic in seating.only_second[:second_count]:
        _flow_between(known, ways.flows, topic, there, here)
    exchange(ways.occupants, here, there)


@njit(cache=True)
def way_cost(known: DelayTables, ways: Ways, tree: int, position: int) -> float:
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
    more = way_cost(known, ways, tree, target) - way_cost(known, ways, tree, source)
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
def _hops_at(known: DelayTables, ways: Ways, position: int, counted: int) -> float:
    """What all that flows over the hops at a position costs, but for those at a counted one."""
    hops, occupants = known.hops, ways.occupants
    cost = 0.0
    for hop in hops.touching[hops.offsets[position] : hops.offsets[position + 1]]:
        above, below = hops.aboves[hop], hops.belows[hop]
        if counted not in (above, below):
            cost += ways.flows[hop] * known.hop_costs[occupants[above], occupants[below]]
    return cost
