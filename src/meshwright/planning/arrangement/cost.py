"""What an arrangement costs: relays that want nothing, and hops that members wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.swaps import Seating, seat
from meshwright.planning.arrangement.problem import Problem
from meshwright.planning.arrangement.search import frozen_positions, search_tables
from meshwright.planning.evaluation.kernels.trees import way_delays


@dataclass(frozen=True, slots=True)
class ArrangementCost:
    """Sums over all publications of the horizon [DYNATOPS, eq. 1-6].

    overhead_internal: messages received by members. overhead_external: messages received by
    unrelated relays. The root of a topic receives no message of its own tree, in neither count.
    delay: hops from the root to each member; where delays are known, a hop counts as its delay over
    that of the mean hop. ways_in: messages to the roots and what members wait for them, where the
    problem counts them; it is none of the paper's.
    """

    overhead_internal: float
    overhead_external: float
    delay: float
    delay_weight: float
    ways_in: float = 0.0

    @property
    def total(self) -> float:
        return self.overhead_external + self.delay_weight * self.delay + self.ways_in


def arrangement_cost(problem: Problem, positions: Int32Array) -> ArrangementCost:
    """The SSBR cost of an arrangement with its parts."""
    interests = problem.snapshot.interests
    away = positions[interests.row_of_pairs()] != problem.roots[interests.columns]
    received = problem.snapshot.publications[interests.columns]
    return ArrangementCost(
        overhead_internal=float(np.sum(received, where=away)),
        overhead_external=float(np.sum(_seating(problem, positions).relay_costs)),
        delay=float(np.sum(_delays(problem, positions))),
        delay_weight=problem.delay_weight,
        ways_in=float(np.sum(_ways_in(problem, positions))),
    )


def broker_costs(problem: Problem, positions: Int32Array) -> Float64Array:
    """What each broker costs where it sits; they add up to the SSBR cost: (broker,).

    [DYNATOPS, eq. 7-9]
    """
    relay_costs = _seating(problem, positions).relay_costs[positions]
    delays = problem.delay_weight * _delays(problem, positions)
    broker_costs: Float64Array = relay_costs + delays + _ways_in(problem, positions)
    return broker_costs


def _ways_in(problem: Problem, positions: Int32Array) -> Float64Array:
    """Of what enters at each broker: (broker,)."""
    ways_in: Float64Array = problem.entry_costs[np.arange(len(positions)), positions]
    return ways_in


def _delays(problem: Problem, positions: Int32Array) -> Float64Array:
    """Of each broker, over its topics and their publications: (broker,)."""
    if problem.knows_delays:
        return _delays_on_the_way(problem, positions)
    delays: Float64Array = problem.delay_costs[np.arange(len(positions)), positions]
    return delays


def _delays_on_the_way(problem: Problem, positions: Int32Array) -> Float64Array:
    """The same where it counts who sits between a broker and the roots of its topics."""
    interests = problem.snapshot.interests
    used_roots, trees = np.unique(problem.roots, return_inverse=True)
    occupants = np.argsort(positions).astype(np.int32)
    # From the root down, the upper broker sends.
    down = np.ascontiguousarray(problem.hop_costs.T)
    ways = way_delays(problem.geometry.parents[used_roots], occupants, down)
    rows, topics = interests.row_of_pairs(), interests.columns
    waits = problem.snapshot.publications[topics] * ways[trees[topics], positions[rows]]
    return np.bincount(rows, weights=waits, minlength=len(positions)).astype(np.float64)


def _seating(problem: Problem, positions: Int32Array) -> Seating:
    seating: Seating = seat(search_tables(problem), frozen_positions(positions))
    return seating
