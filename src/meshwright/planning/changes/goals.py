"""Whether an overlay keeps hard goals, and which of several plans soft goals prefer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from meshwright.model.designs import design
from meshwright.model.goals import BrokenGoal, Goals, HardGoal, SoftGoal
from meshwright.model.interests import Int64Array
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.planning.changes.worth import overlay_worth
from meshwright.planning.evaluation.evaluate import forwarding_of, node_degrees
from meshwright.planning.evaluation.forwarding import Totals
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.topic_connected.validation import failing_topics, k_held

# Of two figures neither is better if they differ by less than this share.
EQUAL_SHARE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """The network as it would be with a plan in force.

    client_counts: clients of each broker of the snapshot, (broker,), or None where unknown.
    horizon_s: the time for which the snapshot counts publications.
    """

    overlay: Overlay
    snapshot: Snapshot
    horizon_s: float
    client_counts: Int64Array | None = None


def broken_goals(goals: Goals, outlook: Outlook) -> tuple[BrokenGoal, ...]:
    """Hard goals that would not be kept, in the order in which they are named."""
    found = (
        _too_weak(goals.k_min, outlook),
        _too_much("clients_max", goals.clients_max, _clients(goals, outlook), outlook),
        _too_much(
            "messages_per_s_max", goals.messages_per_s_max, _messages(goals, outlook), outlook
        ),
        _too_much("degree_max", goals.degree_max, _degrees(outlook), outlook),
    )
    return tuple(one for one in found if one is not None)


def preferred(
    goals: Goals, plans: Sequence[tuple[Plan, Outlook]], weights: PriceWeights, *, net: bool
) -> int:
    """Which of some plans is best; the first of equals.

    One that misses fewer deliveries comes before all that miss more. net: whether the cost of a
    change counts as cost.
    """
    standing = list(range(len(plans)))
    rows = []
    for plan, outlook in plans:
        worth = overlay_worth(plan.target, outlook.snapshot, weights)
        change = weights.reconfiguration * plan.reconfiguration_cost if net else 0.0
        given = _figures(plan, outlook, worth.price.total * worth.publications + change)
        rows.append((worth.missed, *(given[name]() for name in goals.prefer)))
    for number in range(len(rows[0])):
        least = min(rows[index][number] for index in standing)
        limit = least + EQUAL_SHARE * abs(least)
        standing = [index for index in standing if rows[index][number] <= limit]
    return standing[0]


def _too_weak(k_min: int | None, outlook: Outlook) -> BrokenGoal | None:
    """The weakest topic; members that are at most k need only be joined to each other."""
    if k_min is None:
        return None
    interests = outlook.snapshot.interests
    if design(outlook.overlay.design).forwarding == "topic_connected":
        links = link_indexes(outlook.overlay, outlook.snapshot)
        failing = failing_topics(links, interests, k_min)
        held = k_held(links, interests, k_min)
    else:
        # One tree or one root carries a topic, and everybody is on its tree.
        held = np.ones(interests.column_count, dtype=np.int32)
        wanted = np.minimum(interests.transposed().counts() - 1, k_min)
        failing = np.flatnonzero(wanted > 1).astype(np.int32)
    if not len(failing):
        return None
    worst = int(failing[np.argmin(held[failing])])
    return BrokenGoal(
        goal="k_min",
        limit=float(k_min),
        found=float(held[worst]),
        where=outlook.snapshot.topics[worst],
        place_count=len(failing),
    )


def _too_much(
    goal: HardGoal, limit: float | None, figures: Float64Array | None, outlook: Outlook
) -> BrokenGoal | None:
    """The broker that is farthest above a limit; figures: in the snapshot's order, (broker,)."""
    if limit is None or figures is None or not bool(np.any(figures > limit)):
        return None
    worst = int(np.argmax(figures))
    return BrokenGoal(
        goal=goal,
        limit=float(limit),
        found=float(figures[worst]),
        where=outlook.snapshot.brokers[worst],
        place_count=int(np.count_nonzero(figures > limit)),
    )


def _clients(goals: Goals, outlook: Outlook) -> Float64Array | None:
    if goals.clients_max is None or outlook.client_counts is None:
        return None
    return outlook.client_counts.astype(np.float64)


def _messages(goals: Goals, outlook: Outlook) -> Float64Array | None:
    """Messages that each broker sends and receives in a second."""
    if goals.messages_per_s_max is None:
        return None
    loads = _totals(outlook).loads / len(outlook.snapshot.brokers)
    per_second: Float64Array = loads / outlook.horizon_s
    return per_second


def _degrees(outlook: Outlook) -> Float64Array:
    """Links of each broker, in the snapshot's order."""
    degrees = dict(zip(outlook.overlay.brokers, node_degrees(outlook.overlay), strict=True))
    return np.array([degrees[name] for name in outlook.snapshot.brokers], dtype=np.float64)


def _totals(outlook: Outlook) -> Totals:
    return forwarding_of(outlook.overlay, outlook.snapshot).totals()


def _figures(plan: Plan, outlook: Outlook, cost: float) -> dict[SoftGoal, Callable[[], float]]:
    """How to find what a plan is judged by; the lower the better."""
    return {
        "cost": lambda: cost,
        "delay": lambda: _delay(outlook),
        "moved_clients": lambda: float(len(plan.client_moves())),
        "moved_brokers": lambda: float(plan.moved),
        "load_spread": lambda: _load_spread(outlook),
        "links": lambda: float(len(plan.target.links)),
    }


def _delay(outlook: Outlook) -> float:
    """The mean delay of a delivery, in milliseconds where they are known, else in hops."""
    totals, rates = _totals(outlook), outlook.snapshot.publications
    delays = totals.delay_hops if totals.delay_ms is None else totals.delay_ms
    return float(delays @ rates) / (float(totals.delivered @ rates) or 1.0)


def _load_spread(outlook: Outlook) -> float:
    loads = _totals(outlook).loads
    return float(loads.std()) / (float(loads.mean()) or 1.0)
