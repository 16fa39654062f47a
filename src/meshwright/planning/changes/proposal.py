"""The one door to a plan that somebody is asked to accept.

It keeps the hard goals or is refused, is the one that soft goals prefer, and says what speaks
against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from meshwright.errors import CallerError, ProblemError
from meshwright.model.goals import Goals
from meshwright.model.interests import Int64Array
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.broker_change import NO_CHANGE, BrokerChange
from meshwright.planning.changes.churn import plan_churn
from meshwright.planning.changes.clients import (
    Population,
    clients_after,
    plan_with_clients,
    snapshot_after,
)
from meshwright.planning.changes.goals import Outlook, broken_goals, preferred
from meshwright.planning.changes.links import staying_plan
from meshwright.planning.changes.membership import plan_for_brokers
from meshwright.planning.changes.network import CHURN, PlanWish, plan_network
from meshwright.planning.changes.objections import CLIENTS_PER_S, objections_to, plan_sights
from meshwright.planning.changes.worth import overlay_worth, priced
from meshwright.planning.placement.clients import NO_BROKER, Clients

Candidate = tuple[Plan, Outlook]

NO_GOALS = Goals()
HORIZON_S = 36_000.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Circumstances:
    """What a plan is made in, beside the snapshot.

    source: the overlay in force, or None for where the design begins. placement: the rule by which
    the population may move, or None where clients stay. clients_per_s: that a broker sends away.
    horizon_s: the time for which the snapshot counts publications. data_until_us: the time of the
    last thing that the snapshot knows of. change: brokers that come or go.
    """

    source: Overlay | None = None
    population: Population | None = None
    placement: str | None = None
    clients_per_s: float = CLIENTS_PER_S
    horizon_s: float = HORIZON_S
    data_until_us: int | None = None
    change: BrokerChange = NO_CHANGE
    seed: int = 0


def propose(
    snapshot: Snapshot, wish: PlanWish, around: Circumstances, goals: Goals = NO_GOALS
) -> Plan:
    """The plan that goals allow and prefer, and what speaks against it.

    Where every plan that is found breaks a hard goal, that is a ProblemError with its name.
    """
    if goals.clients_max is not None and around.population is None:
        raise CallerError("the goal clients_max needs the population of the network")
    found = _candidates(snapshot, _helped(wish, goals), around, goals)
    plan, outlook = _chosen(found, snapshot, wish, around, goals)
    judged = judged_plan(plan, (snapshot, outlook.snapshot), wish.price_weights, around)
    is_free = around.change.is_none and wish.method != CHURN and goals == NO_GOALS
    if not (judged.is_at_a_loss and is_free and wish.objective == "net"):
        return judged
    today = overlay_worth(plan.source, snapshot, wish.price_weights)
    staying = staying_plan(plan.source, today, wish.price_weights, judged.price)
    return judged_plan(staying, (snapshot, snapshot), wish.price_weights, around)


def judged_plan(
    plan: Plan,
    snapshots: tuple[Snapshot, Snapshot],
    weights: PriceWeights,
    around: Circumstances,
) -> Plan:
    """The plan with what speaks against it and what a publication costs before and after."""
    before, after = snapshots
    sights = plan_sights(plan, before, after, weights)
    against = objections_to(
        plan,
        before,
        after,
        clients_per_s=around.clients_per_s,
        data_until_us=around.data_until_us,
        sights=sights,
    )
    told = msgspec.structs.replace(plan, against=against)
    return priced(told, (sights[0].worth, sights[1].worth), weights)


def plan_without(
    snapshot: Snapshot,
    overlay: Overlay,
    lost: Sequence[str],
    wish: PlanWish,
    *,
    population: Population | None = None,
    goals: Goals = NO_GOALS,
) -> Plan:
    """Where the roles and clients of brokers go that are lost: a plan without them.

    Everybody else keeps its place where it can, as nothing is planned that does not pay by itself.
    """
    around = Circumstances(
        source=overlay, population=population, change=BrokerChange(removed=tuple(lost))
    )
    return propose(snapshot, wish, around, goals)


def _chosen(
    candidates: Iterator[Candidate],
    snapshot: Snapshot,
    wish: PlanWish,
    around: Circumstances,
    goals: Goals,
) -> Candidate:
    """The preferred one of the plans that keep the hard goals; staying is one if that does."""
    outlooks = list(candidates)
    broken = [broken_goals(goals, outlook) for _, outlook in outlooks]
    keeping = [each for each, faults in zip(outlooks, broken, strict=True) if not faults]
    if not keeping:
        sentence = broken[0][0].sentence
        raise ProblemError(
            f"No plan for {wish.design} was made: {sentence}; relax the goal, or plan for another "
            "design or k."
        )
    if len(outlooks) == 1:
        return keeping[0]
    if around.source is not None and around.change.is_none:
        worth = overlay_worth(around.source, snapshot, wish.price_weights)
        today = staying_plan(around.source, worth, wish.price_weights)
        staying = _outlook(today, snapshot, around)
        keeping += [] if broken_goals(goals, staying) else [(today, staying)]
    net = wish.objective == "net"
    return keeping[preferred(goals, keeping, wish.price_weights, net=net)]


def _candidates(
    snapshot: Snapshot, wish: PlanWish, around: Circumstances, goals: Goals
) -> Iterator[Candidate]:
    """The plan as wished; where goals may want another, also some of its like."""
    first = _planned(snapshot, wish, around, around.placement)
    yield first
    if goals == NO_GOALS:
        return
    if around.placement is not None and first[0].client_moves():
        yield _planned(snapshot, wish, around, None)
    if wish.objective == "net":
        wish = replace(wish, objective="cost")
        yield _planned(snapshot, wish, around, around.placement)
    if goals.degree_max is not None and "tie" in wish.row.params:
        wish = replace(wish, params=(("tie", "degree"),))
        yield _planned(snapshot, wish, around, around.placement)


def _planned(
    snapshot: Snapshot, wish: PlanWish, around: Circumstances, placement: str | None
) -> Candidate:
    population, source, seed = around.population, around.source, around.seed
    if wish.method == CHURN or not around.change.is_none:
        found = (
            plan_churn(
                snapshot, wish, around.change, population=population, source=source, seed=seed
            )
            if wish.method == CHURN
            else plan_for_brokers(
                snapshot,
                wish,
                around.change,
                population=population,
                placement=placement,
                source=source,
                seed=seed,
            )
        )
        counts = None if found.clients is None else _client_counts(found.clients, found.snapshot)
        return found.plan, Outlook(found.plan.target, found.snapshot, around.horizon_s, counts)
    if placement is None or population is None:
        plan = plan_network(snapshot, wish, source=source, seed=seed)
    else:
        plan = plan_with_clients(snapshot, wish, population, placement, source=source, seed=seed)
    return plan, _outlook(plan, snapshot, around)


def _helped(wish: PlanWish, goals: Goals) -> PlanWish:
    """The wish with what the design can do towards the goals by itself."""
    k_min = goals.k_min
    if wish.k is None and k_min is not None and wish.row.k_own < k_min:
        wish = replace(wish, k=k_min if wish.row.can_be_asked(k_min) else None)
    if goals.degree_max is not None:
        wish = replace(wish, degree_max=min(wish.degree_max, goals.degree_max))
    return wish


def _outlook(plan: Plan, snapshot: Snapshot, around: Circumstances) -> Outlook:
    population = around.population
    if population is None:
        return Outlook(plan.target, snapshot, around.horizon_s)
    clients = clients_after(snapshot, population, plan)
    after = snapshot_after(snapshot, population, plan)
    return Outlook(plan.target, after, around.horizon_s, _client_counts(clients, after))


def _client_counts(clients: Clients, snapshot: Snapshot) -> Int64Array:
    """Clients of each broker: (broker,)."""
    brokers = clients.brokers[clients.brokers != NO_BROKER]
    return np.bincount(brokers, minlength=len(snapshot.brokers))
