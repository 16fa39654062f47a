"""Searches by swaps: the paper's greedy, annealing, and the walk along given swaps."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.partners import partner_changes
from meshwright.planning.arrangement.kernels.reach import Reach, reach_of, swap_within_reach
from meshwright.planning.arrangement.kernels.swaps import (
    Seating,
    Tables,
    broker_cost,
    cost_of,
    seat,
    swap,
    swap_change,
)

# A gain below this share of the cost may be rounding, and swaps could go round in circles.
ROUNDING_SHARE = 1e-12


@njit(cache=True)
def greedy(tables: Tables, start: Int32Array, tries: int) -> Int32Array:
    """Swaps of the bottleneck broker, best first, until none helps, (swap, 2) [DYNATOPS, Alg. 2].

    A broker whose best swap gains nothing stands back until it is swapped, and the next costliest
    one tries; `tries` in vain end it, one in the paper. Ties go to the lowest broker.
    """
    reach = reach_of(tables, start)
    gain_min = ROUNDING_SHARE * cost_of(tables, reach.seating)
    swaps = np.empty((len(start), 2), dtype=np.int32)
    swap_count = 0
    stands_back = np.zeros(len(start), dtype=np.bool_)
    while tries > 0:
        first = _costliest(tables, reach.seating, stands_back)
        if first < 0:
            break
        second, change = _best_partner(reach, first)
        if change >= -gain_min:
            stands_back[first] = True
            tries -= 1
            continue
        if swap_count == len(swaps):
            swaps = np.concatenate((swaps, np.empty_like(swaps)))
        swaps[swap_count] = first, second
        swap_count += 1
        swap_within_reach(reach, first, second)
        stands_back[second] = False
    return swaps[:swap_count].copy()


@njit(cache=True)
def anneal(
    tables: Tables, start: Int32Array, proposals: Int32Array, patience: Float64Array
) -> Int32Array:
    """Positions after every proposed swap that costs less than its patience was made: (broker,).

    proposals: pairs of different brokers, (proposal, 2). patience: (proposal,).
    """
    seating = seat(tables, start)
    for proposal in range(len(proposals)):
        first, second = proposals[proposal, 0], proposals[proposal, 1]
        if swap_change(tables, seating, first, second) < patience[proposal]:
            swap(tables, seating, first, second)
    return seating.positions


@njit(cache=True)
def walk_costs(tables: Tables, start: Int32Array, swaps: Int32Array) -> Float64Array:
    """Cost at the start and after each of the swaps: (swap + 1,)."""
    seating = seat(tables, start)
    costs = np.empty(len(swaps) + 1, dtype=np.float64)
    costs[0] = cost_of(tables, seating)
    for index in range(len(swaps)):
        first, second = swaps[index, 0], swaps[index, 1]
        costs[index + 1] = costs[index] + swap_change(tables, seating, first, second)
        swap(tables, seating, first, second)
    return costs


@njit(cache=True)
def _costliest(tables: Tables, seating: Seating, stands_back: BoolArray) -> int:
    """The broker of largest cost among those that do not stand back; -1 if all do."""
    costliest, cost_max = -1, -np.inf
    for broker in range(len(stands_back)):
        if not stands_back[broker] and broker_cost(tables, seating, broker) > cost_max:
            costliest, cost_max = broker, broker_cost(tables, seating, broker)
    return costliest


@njit(cache=True)
def _best_partner(reach: Reach, first: int) -> tuple[int, float]:
    """The broker whose swap with the first lowers the cost most, and by how much the cost grows."""
    changes = partner_changes(reach, first)
    changes[first] = np.inf
    best = int(np.argmin(changes))
    return best, changes[best]
