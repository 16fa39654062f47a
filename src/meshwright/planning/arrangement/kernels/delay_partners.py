"""One broker against all others at once, where delays are known.

The same figures as swap by swap, but a tree is looked at once and not once for each partner: what
the ways to all positions cost is kept, and followed as brokers swap.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.reach import below
from meshwright.planning.arrangement.kernels.swaps import Seating, Tables
from meshwright.planning.arrangement.kernels.ways import (
    DelayTables,
    Ways,
    exchange,
    seats_change,
    way_cost,
)


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
    is_member = np.zeros(len(positions), dtype=np.bool_)
    for topic in range(len(is_wanted)):
        tree, rate = tables.trees[topic], tables.publications[topic]
        members = tables.members[tables.member_offsets[topic] : tables.member_offsets[topic + 1]]
        if not is_wanted[topic]:
            for second in members:
                more = _farther(known, ways, way_costs[tree], tree, here, positions[second])
                changes[second] -= rate * more
            continue
        is_member[members] = True
        for second in range(len(positions)):
            if not is_member[second]:
                more = _farther(known, ways, way_costs[tree], tree, here, positions[second])
                changes[second] += rate * more
        is_member[members] = False
    return changes


@njit(cache=True)
def _farther(
    known: DelayTables, ways: Ways, costs: Float64Array, tree: int, here: int, there: int
) -> float:
    """What a tree's way there costs more than its way here, once who sits there changed seats."""
    tables, occupants = known.tables, ways.occupants
    if _is_below(tables, tree, here, there) or _is_below(tables, tree, there, here):
        exchange(occupants, here, there)
        more = way_cost(known, ways, tree, there) - way_cost(known, ways, tree, here)
        exchange(occupants, here, there)
        return float(more)
    before_here, before_there = tables.parents[tree, here], tables.parents[tree, there]
    to_here = known.hop_costs[occupants[before_here], occupants[there]]
    to_there = known.hop_costs[occupants[before_there], occupants[here]]
    return float(costs[before_there] + to_there - costs[before_here] - to_here)


@njit(cache=True)
def _is_below(tables: Tables, tree: int, top: int, position: int) -> bool:
    """Whether a position is at or below another in a tree."""
    place = tables.places[tree, position] - tables.places[tree, top]
    return bool(0 <= place < tables.sizes[tree, top])


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
