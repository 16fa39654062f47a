"""Paths of swaps from one arrangement to another, and where along a path to stop."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.problem import Problem
from meshwright.planning.arrangement.reconfiguration import reconfiguration_costs
from meshwright.planning.arrangement.search import AnyTables, costs_along, frozen_positions

Swap = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class SwapPath:
    """Arrangements reached one after another, each by a swap of two brokers' positions.

    start: (broker,). swaps: pairs of brokers, (swap, 2). costs and moved (brokers that are not
    where they started) hold at the start and after each swap: (swap + 1,).
    """

    start: Int32Array
    swaps: Int32Array
    costs: Float64Array
    moved: Int64Array

    def __post_init__(self) -> None:
        for array in (self.start, self.swaps, self.costs, self.moved):
            array.setflags(write=False)

    @property
    def target(self) -> Int32Array:
        """The arrangement at the end: (broker,)."""
        positions = self.start.copy()
        for first, second in self.swaps.tolist():
            positions[first], positions[second] = positions[second], positions[first]
        return frozen_positions(positions)

    def until(self, swap_count: int) -> SwapPath:
        """The same path, stopped after some swaps."""
        return SwapPath(
            self.start,
            self.swaps[:swap_count],
            self.costs[: swap_count + 1],
            self.moved[: swap_count + 1],
        )


def swap_path(tables: AnyTables, start: Int32Array, swaps: Int32Array) -> SwapPath:
    """The path of given swaps, with its costs."""
    origin = frozen_positions(start)
    pairs = np.array(swaps, dtype=np.int32).reshape(-1, 2)
    return SwapPath(origin, pairs, costs_along(tables, origin, pairs), _moved(origin, pairs))


def path_towards(tables: AnyTables, start: Int32Array, target: Int32Array) -> SwapPath:
    """A path to a target, one cycle of the permutation after the other, best gain per move first.

    The gain of a cycle is what it saves alone, from the start.
    """
    cycles = _cycles(start, target)
    there_and_back = [
        pair for cycle in cycles for pair in (*_cycle_swaps(cycle), *reversed(_cycle_swaps(cycle)))
    ]
    costs = swap_path(tables, start, _pairs(there_and_back)).costs
    lengths = np.array([len(cycle) for cycle in cycles], dtype=np.int64)
    turning_points = np.cumsum(2 * (lengths - 1)) - (lengths - 1)
    order = np.argsort((costs[turning_points] - costs[0]) / lengths, kind="stable")
    swaps = [pair for index in order.tolist() for pair in _cycle_swaps(cycles[index])]
    return swap_path(tables, start, _pairs(swaps))


def best_prefix(path: SwapPath, benefits: Float64Array) -> SwapPath:
    """The path up to its greatest benefit, the shortest of equals [DYNATOPS, Alg. 4]."""
    return path.until(int(np.argmax(benefits)))


def net_benefits(problem: Problem, path: SwapPath) -> Float64Array:
    """What each arrangement on a path saves, less what it costs to get there: (swap + 1,)."""
    price = reconfiguration_costs(path.moved, problem.broker_count, problem.topic_count)
    benefits: Float64Array = path.costs[0] - path.costs - price
    return benefits


def _cycle_swaps(cycle: list[int]) -> list[Swap]:
    """Swaps after which each broker of a cycle sits where the next one sat."""
    return list(pairwise(cycle))


def _cycles(start: Int32Array, target: Int32Array) -> list[list[int]]:
    """Brokers that move, in cycles: each goes to where the next one starts."""
    occupants = np.empty_like(start)
    occupants[start] = np.arange(len(start), dtype=np.int32)
    successors = occupants[target].tolist()
    seen = [successor == broker for broker, successor in enumerate(successors)]
    cycles = []
    for first in range(len(successors)):
        broker, cycle = first, []
        while not seen[broker]:
            seen[broker] = True
            cycle.append(broker)
            broker = successors[broker]
        if cycle:
            cycles.append(cycle)
    return cycles


def _moved(start: Int32Array, swaps: Int32Array) -> Int64Array:
    """Brokers away from the start, at the start and after each swap: (swap + 1,)."""
    home = start.tolist()
    positions = start.tolist()
    moved = [0]
    for first, second in swaps.tolist():
        away = (positions[first] != home[first]) + (positions[second] != home[second])
        positions[first], positions[second] = positions[second], positions[first]
        now = (positions[first] != home[first]) + (positions[second] != home[second])
        moved.append(moved[-1] + now - away)
    return np.array(moved, dtype=np.int64)


def _pairs(swaps: list[Swap]) -> Int32Array:
    return np.array(swaps, dtype=np.int32).reshape(-1, 2)
