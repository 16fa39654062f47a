"""Clients in a plan: who moves to which broker by a placement rule, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from meshwright.model.identifiers import BrokerName, ClientName
from meshwright.model.interests import Int32Array, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, Step
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import amount, cost_change, counted
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.changes.worth import overlay_worth, plan_of_worths
from meshwright.planning.placement.clients import (
    NO_BROKER,
    BrokerView,
    Clients,
    PlacementProblem,
    view_of,
)
from meshwright.planning.placement.outcome import place
from meshwright.planning.placement.strategies import PlacementRules

# In one plan clients are asked so often: where those of one taste meet shows only when the first
# have moved. Where nothing bounds loads, all would meet at one broker, so they are asked once.
ROUNDS_MAX = {"similarity-bounded": 8}


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Clients by name with what they want and where they are, and the clusters of brokers.

    clusters: (broker,); a client moves within its own.
    """

    names: tuple[ClientName, ...]
    clients: Clients
    clusters: Int32Array


def plan_with_clients(
    snapshot: Snapshot,
    wish: PlanWish,
    population: Population,
    placement: str,
    *,
    source: Overlay | None = None,
    rules: PlacementRules | None = None,
    seed: int = 0,
) -> Plan:
    """A plan for the network as it is once clients have moved, and the moves at its end.

    Costs are those of the overlays in closed form, before with clients where they are and after
    where they go. A hand-over is one message; with the objective `net` clients stay where all of
    it does not pay.
    """
    before = population.clients
    after = gathered(population, len(snapshot.brokers), placement, rules=rules, seed=seed)
    moved = resettled(snapshot, after)
    plan = plan_network(moved, wish, source=source, seed=seed)
    steps = moves_between(population.names, (snapshot, before), (snapshot, after), placement)
    if not steps:
        return plan
    whole = plan_of_worths(
        plan.source,
        plan.target,
        (
            overlay_worth(plan.source, snapshot, wish.delay_weight),
            overlay_worth(plan.target, moved, wish.delay_weight),
        ),
        steps=(*plan.steps, *steps),
        price=plan.reconfiguration_cost + len(steps),
        summary="",
    )
    if wish.objective == "net" and whole.net_benefit <= 0.0:
        return plan_network(snapshot, wish, source=source, seed=seed)
    who = f"{placement} moves {len(steps):,} of {counted(before.count, 'client')}"
    return msgspec.structs.replace(whole, summary=summary_of_all(whole, who))


def gathered(
    population: Population,
    broker_count: int,
    placement: str,
    *,
    rules: PlacementRules | None = None,
    seed: int = 0,
) -> Clients:
    """Clients where the rule sends them; asked anew while brokers want fewer topics by it."""
    rng = np.random.default_rng(seed)
    found: Clients = population.clients
    pair_count: float = math.inf
    for _ in range(ROUNDS_MAX.get(placement, 1)):
        problem = PlacementProblem(found, view_of(found, broker_count), population.clusters)
        placed = found.moved_to(place(problem, placement, rng, rules=rules).brokers)
        count = int(np.count_nonzero(view_of(placed, broker_count).reference_counts))
        if count >= pair_count:
            break
        found, pair_count = placed, count
    return found


def summary_of_all(plan: Plan, who: str) -> str:
    """One sentence with the figures of overlay and clients together."""
    joined = (
        f"{counted(plan.moved, 'broker')} get other places or links"
        if plan.moved
        else "every broker stays where it is"
    )
    cost = plan.cost
    told = cost_change(cost.before, cost.after, plan.reconfiguration_cost, plan.net_benefit)
    made = cost.missed_before - cost.missed_after
    mended = f"{amount(made)} deliveries that are missed today are made, and " if made > 0 else ""
    return f"{who}, and {joined}: {mended}{told}."


def clients_after(snapshot: Snapshot, population: Population, plan: Plan) -> Clients:
    """The population's clients where a plan moves them."""
    numbers = {name: number for number, name in enumerate(snapshot.brokers)}
    targets = {move.client: numbers[BrokerName(move.target)] for move in plan.client_moves()}
    brokers = population.clients.brokers.copy()
    for client, name in enumerate(population.names):
        brokers[client] = targets.get(name, brokers[client])
    return population.clients.moved_to(brokers)


def snapshot_after(snapshot: Snapshot, population: Population, plan: Plan) -> Snapshot:
    """The snapshot with clients where a plan moves them."""
    if not plan.client_moves():
        return snapshot
    return resettled(snapshot, clients_after(snapshot, population, plan))


def resettled(snapshot: Snapshot, clients: Clients) -> Snapshot:
    """The snapshot with what brokers want when clients are elsewhere."""
    counts = view_of(clients, len(snapshot.brokers)).reference_counts
    brokers, topics = np.nonzero(counts)
    interests = interests_from_pairs(brokers, topics, *counts.shape)
    return replace(snapshot, interests=interests)


def moves_between(
    names: tuple[ClientName, ...],
    before: tuple[Snapshot, Clients],
    after: tuple[Snapshot, Clients],
    placement: str,
) -> tuple[Step, ...]:
    """A step for every client that has a broker and gets another; brokers may differ, too."""
    (old_network, old_clients), (new_network, new_clients) = before, after
    new = view_of(new_clients, len(new_network.brokers))
    new_numbers: dict[str, int] = {name: row for row, name in enumerate(new_network.brokers)}
    hosted = new_clients.brokers[new_clients.brokers != NO_BROKER]
    counts = np.bincount(hosted, minlength=len(new_numbers)).tolist()
    steps = []
    for client, (source, target) in enumerate(
        zip(old_clients.brokers.tolist(), new_clients.brokers.tolist(), strict=True)
    ):
        if NO_BROKER in {source, target}:
            continue
        involved = (names[client], old_network.brokers[source], new_network.brokers[target])
        if involved[1] != involved[2]:
            left = new_numbers.get(involved[1])
            shared = (
                0 if left is None else _wanted_by_others(new, new_clients, client, left),
                _wanted_by_others(new, new_clients, client, target),
            )
            why = (
                f"{involved[1]} leaves the network, and {_wanted(involved, shared)}."
                if left is None
                else _why(involved, shared, (counts[left], counts[target]))
            )
            steps.append(_move(involved, shared, placement, why))
    return tuple(steps)


def _why(involved: tuple[str, str, str], shared: tuple[int, int], counts: tuple[int, int]) -> str:
    """counts: clients of the broker that is left, and of the other, when all have moved."""
    client, source, target = involved
    if shared[1] > shared[0]:
        return f"{_wanted(involved, shared)}, {source} {shared[0]} when others have moved."
    return (
        f"{client} is served as well at {target}: then {source} has "
        f"{counted(counts[0], 'client')} and {target} {counts[1]}."
    )


def _wanted(involved: tuple[str, str, str], shared: tuple[int, int]) -> str:
    client, _, target = involved
    return f"{target} wants {shared[1]} of the topics of {client} for other clients too"


def _move(
    involved: tuple[str, str, str], shared: tuple[int, int], placement: str, why: str
) -> Step:
    return Step(
        action="move_client",
        brokers=involved,
        why=why,
        algorithm=placement,
        metric="topics_shared",
        before=float(shared[0]),
        after=float(shared[1]),
    )


def _wanted_by_others(view: BrokerView, clients: Clients, client: int, broker: int) -> int:
    """Topics of a client that a broker wants for another client."""
    own = int(clients.brokers[client] == broker)
    return int(np.count_nonzero(view.reference_counts[broker, clients.interests.of(client)] > own))
