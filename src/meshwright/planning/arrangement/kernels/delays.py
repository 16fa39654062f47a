"""The same searches where delays between brokers are known, and it counts who sits on the way.

Relays and prices are judged as they are without delays.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.delay_partners import (
    follow_way_costs,
    partner_delay_changes,
    way_costs_of,
)
from meshwright.planning.arrangement.kernels.partners import partner_changes
from meshwright.planning.arrangement.kernels.reach import reach_of, swap_within_reach
from meshwright.planning.arrangement.kernels.search import ROUNDING_SHARE
from meshwright.planning.arrangement.kernels.swaps import (
    Seating,
    broker_cost,
    cost_of,
    seat,
    swap,
    swap_change,
)
from meshwright.planning.arrangement.kernels.ways import (
    DelayTables,
    Ways,
    delay_change,
    follow,
    ways_of,
)


@njit(cache=True)
def greedy_by_delays(known: DelayTables, start: Int32Array, tries: int) -> Int32Array:
    """Swaps of the bottleneck broker, as `greedy` has them: (swap, 2)."""
    tables = known.tables
    reach = reach_of(tables, start)
    ways = ways_of(known, reach.seating)
    way_costs = way_costs_of(known, ways)
    gain_min = ROUNDING_SHARE * _whole_cost(known, reach.seating, ways)
    swaps = np.empty((len(start), 2), dtype=np.int32)
    swap_count = 0
    stands_back = np.zeros(len(start), dtype=np.bool_)
    while tries > 0:
        first = _costliest(known, reach.seating, way_costs, stands_back)
        if first < 0:
            break
        changes = partner_changes(reach, first)
        changes += partner_delay_changes(known, reach.seating, ways, way_costs, first)
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
        here, there = reach.seating.positions[first], reach.seating.positions[second]
        follow(known, reach.seating, ways, first, second)
        follow_way_costs(known, ways, way_costs, here, there)
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
            follow(known, seating, ways, first, second)
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
        follow(known, seating, ways, first, second)
        swap(tables, seating, first, second)
    return costs


@njit(cache=True)
def _whole_cost(known: DelayTables, seating: Seating, ways: Ways) -> float:
    cost, occupants = cost_of(known.tables, seating), ways.occupants
    for hop in range(len(ways.flows)):
        above, below = occupants[known.hops.aboves[hop]], occupants[known.hops.belows[hop]]
        cost += ways.flows[hop] * known.hop_costs[above, below]
    return cost


@njit(cache=True)
def _costliest(
    known: DelayTables, seating: Seating, way_costs: Float64Array, stands_back: BoolArray
) -> int:
    """The broker of largest cost among those that do not stand back; -1 if all do."""
    tables = known.tables
    costliest, cost_max = -1, -np.inf
    for broker in range(len(stands_back)):
        if not stands_back[broker]:
            cost, position = broker_cost(tables, seating, broker), seating.positions[broker]
            for pair in range(tables.offsets[broker], tables.offsets[broker + 1]):
                topic = tables.topics[pair]
                cost += tables.publications[topic] * way_costs[tables.trees[topic], position]
            if cost > cost_max:
                costliest, cost_max = broker, cost
    return costliest
