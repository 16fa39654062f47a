"""How much must be published for a change of positions to pay [DYNATOPS, Alg. 3 and 4]."""

from __future__ import annotations

import numpy as np

from meshwright.model.designs import DEFAULT_DESIGN as RING
from meshwright.model.designs import design
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.arrangement.paper import ssbr_greedy
from meshwright.planning.arrangement.problem import arrangement_problem
from meshwright.planning.arrangement.reconfiguration import (
    RECONFIGURABILITY_BETA,
    reconfiguration_cost,
    reconfiguration_costs,
)
from meshwright.planning.arrangement.search import new_search
from meshwright.planning.arrangement.seats import read_seats
from meshwright.planning.designs import build_overlay


def paying_share(
    snapshot: Snapshot, *, delay_weight: float = 1.0, beta: float = RECONFIGURABILITY_BETA
) -> float | None:
    """How many horizons of a snapshot it takes until a move on a Chord ring has paid for itself.

    From the hash arrangement; None where no move ever pays, or nothing is published.
    """
    expected = float(np.mean(snapshot.publications)) if len(snapshot.topics) else 0.0
    if not expected:
        return None
    ring = build_overlay(RING, snapshot, rng=np.random.default_rng(0))
    needed = break_even(ring, snapshot, delay_weight=delay_weight, beta=beta, with_ways_in=True)
    return None if needed is None else needed / expected


def break_even(
    overlay: Overlay,
    snapshot: Snapshot,
    *,
    delay_weight: float = 1.0,
    beta: float = RECONFIGURABILITY_BETA,
    with_ways_in: bool = False,
) -> float | None:
    """Publications of a topic, on average, from which on a move pays; None if none ever does.

    All costs grow with the publications and the price of moves does not, so the path of the
    paper's greedy is the same at every rate: what is asked is at which rate one of its
    arrangements saves its price, and the test before planning lets it through.
    """
    geometry, start = read_seats(overlay, snapshot, design(overlay.design).geometry)
    problem = arrangement_problem(snapshot, geometry, delay_weight, with_ways_in=with_ways_in)
    path = ssbr_greedy(new_search(problem, start))
    gains = path.costs[0] - path.costs[1:]
    if len(gains) == 0 or gains.max() <= 0.0:
        return None
    counts = problem.broker_count, problem.topic_count
    prices = reconfiguration_costs(path.moved[1:], *counts)[gains > 0.0]
    pays = float((prices / gains[gains > 0.0]).min())
    is_tested = beta * reconfiguration_cost(problem.broker_count, *counts) / float(path.costs[0])
    return max(pays, is_tested) * float(np.mean(snapshot.publications))
