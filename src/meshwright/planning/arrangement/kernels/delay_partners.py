"""One broker against all others at once, where delays are known.

The same figures as swap by swap, but a tree is looked at once and not once for each partner: what
the ways to all positions cost is kept, and followed as brokers swap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.reach import below
from meshwright.planning.arrangement.kernels.swaps import Seating
from meshwright.planning.arrangement.kernels.ways import (
    DelayTables,
    Ways,
    exchange,
    seats_change,
    way_cost,
)


class Standing(NamedTuple):
    """Where a search stands; way_costs: as `way_costs_of` has them."""

    known: DelayTables
    seating: Seating
    ways: Ways
    way_costs: Float64Array


@njit(cache=True)
def way_costs_of(known: DelayTables, ways: Ways) -> Float64Array:
    """What the hops from each tree's root down to each position cost: (tree, position)."""
    costs = np.zeros(known.tables.parents.shape, dtype=np.float64)
    for tree in range(len(costs)):
        _cost_down(known, ways.occupants, costs[tree], tree, known.tables.descents[tree, 1:])
    return costs


@njit(cache=True)
def follow_way_costs(
    known: DelayTables, ways: Ways, way_costs: Float64Array, here: int, there: int
) -> None:
    """The brokers at two positions have changed seats: ways to there and below, in place."""
    for tree in range(len(way_costs)):
        for top in (here, there):
            changed = below(known.tables, tree, top)[int(top == known.tables.roots[tree]) :]
            _cost_down(known, ways.occupants, way_costs[tree], tree, changed)


@njit(cache=True)
def partner_delay_changes(
    known: DelayTables, seating: Seating, ways: Ways, way_costs: Float64Array, first: int
) -> Float64Array:
    """By how much delays would cost more if a broker swapped with each other: (broker,).

    The broker's own entry means nothing.
    """
    tables, positions = known.tables, seating.positions
    here = positions[first]
    changes = np.zeros(len(positions), dtype=np.float64)
    for second in range(len(positions)):
        if second != first:
            changes[second] = seats_change(known, ways, here, positions[second])
    is_wanted = np.zeros(len(tables.publications), dtype=np.bool_)
    is_wanted[tables.topics[tables.offsets[first] : tables.offsets[first + 1]]] = True
    is_other = np.ones(len(positions), dtype=np.bool_)
    spared = np.zeros(len(positions), dtype=np.float64)
    standing = Standing(known, seating, ways, way_costs)
    for topic in range(len(is_wanted)):
        members = tables.members[tables.member_offsets[topic] : tables.member_offsets[topic + 1]]
        if is_wanted[topic]:
            is_other[members] = False
            others = np.flatnonzero(is_other).astype(np.int32)
            is_other[members] = True
            _add_farther(changes, standing, topic, here, others)
        else:
            _add_farther(spared, standing, topic, here, members)
    return changes - spared


@njit(cache=True)
def _add_farther(
    sums: Float64Array, standing: Standing, topic: int, here: int, partners: Int32Array
) -> None:
    """What a topic's way to a partner's position costs more than its way here, once seats changed.

    Where one of them is below the other, the way is walked; else only its last hop is another.
    """
    known, seating, ways, way_costs = standing
    tree, rate = known.tables.trees[topic], known.tables.publications[topic]
    parents, places = known.tables.parents[tree], known.tables.places[tree]
    sizes, costs, hop_costs = known.tables.sizes[tree], way_costs[tree], known.hop_costs
    positions, occupants = seating.positions, ways.occupants
    first, before_here, place_here = occupants[here], parents[here], places[here]
    for second in partners:
        there = positions[second]
        apart = places[there] - place_here
        if -sizes[there] < apart < sizes[here]:
            exchange(occupants, here, there)
            more = way_cost(known, ways, tree, there) - way_cost(known, ways, tree, here)
            exchange(occupants, here, there)
        else:
            before_there = parents[there]
            more = costs[before_there] + hop_costs[occupants[before_there], first]
            more -= costs[before_here] + hop_costs[occupants[before_here], second]
        sums[second] += rate * more


@njit(cache=True)
def _cost_down(
    known: DelayTables,
    occupants: Int32Array,
    costs: Float64Array,
    tree: int,
    positions: Int32Array,
) -> None:
    """The costs of ways to positions that are not the root, each after the one above it."""
    parents = known.tables.parents[tree]
    for position in positions:
        above = parents[position]
        hop_cost = known.hop_costs[occupants[above], occupants[position]]
        costs[position] = costs[above] + hop_cost
