"""What a placement costs and gives: hand-overs, balance, and changes of broker subscriptions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import Int32Array
from meshwright.planning.placement.clients import (
    NO_BROKER,
    BrokerView,
    Clients,
    PlacementProblem,
    view_of,
)
from meshwright.planning.placement.strategies import PLACEMENTS, PlacementRules


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Brokers chosen, (client,), and what came of it.

    hand_overs: clients that had another broker before. load_deviation: standard deviation of
    subscriptions over brokers. subscription_changes: (broker, topic) pairs that appear or vanish.
    """

    brokers: Int32Array
    hand_overs: int
    load_deviation: float
    subscription_changes: int


def place(
    problem: PlacementProblem,
    method: str,
    rng: np.random.Generator,
    *,
    rules: PlacementRules | None = None,
) -> Placement:
    """Place all clients by one of PLACEMENTS, and compare with where they were."""
    if method not in PLACEMENTS:
        raise ProblemError(f"No placement is called {method!r}; choose {', '.join(PLACEMENTS)}.")
    brokers = PLACEMENTS[method](problem, rules or PlacementRules(), rng)
    before = problem.clients if problem.viewed is None else problem.viewed
    return compare(before, problem.clients.moved_to(brokers), problem.view.broker_count)


def compare(before: Clients, after: Clients, broker_count: int) -> Placement:
    """What changed between two placements of the same clients."""
    had_other = (before.brokers != NO_BROKER) & (before.brokers != after.brokers)
    old, new = view_of(before, broker_count), view_of(after, broker_count)
    return Placement(
        brokers=after.brokers,
        hand_overs=int(np.count_nonzero(had_other)),
        load_deviation=float(np.std(new.loads)),
        subscription_changes=subscription_changes(old, new),
    )


def subscription_changes(before: BrokerView, after: BrokerView) -> int:
    """(broker, topic) pairs that a broker starts or ceases to want."""
    changed = (before.reference_counts > 0) != (after.reference_counts > 0)
    return int(np.count_nonzero(changed))
