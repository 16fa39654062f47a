"""Clients in a plan: who moves to which broker by a placement rule, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meshwright.model.identifiers import BrokerName, ClientName
from meshwright.model.interests import Int32Array, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, Step
from meshwright.model.snapshot import Snapshot
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
    where they go. A hand-over is one message.
    """
    before = population.clients
    view = view_of(before, len(snapshot.brokers))
    problem = PlacementProblem(before, view, population.clusters)
    placed = place(problem, placement, np.random.default_rng(seed), rules=rules)
    after = before.moved_to(placed.brokers)
    moved = resettled(snapshot, after)
    plan = plan_network(moved, wish, source=source, seed=seed)
    steps = moves_between(population.names, (snapshot, before), (snapshot, after), placement)
    if not steps:
        return plan
    return plan_of_worths(
        plan.source,
        plan.target,
        (
            overlay_worth(plan.source, snapshot, wish.delay_weight),
            overlay_worth(plan.target, moved, wish.delay_weight),
        ),
        steps=(*plan.steps, *steps),
        price=plan.reconfiguration_cost + len(steps),
        summary=f"{plan.summary} {placement} moves {len(steps):,} of {before.count:,} clients.",
    )


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
    old, new = (view_of(clients, len(network.brokers)) for network, clients in (before, after))
    steps = []
    for client, (source, target) in enumerate(
        zip(old_clients.brokers.tolist(), new_clients.brokers.tolist(), strict=True)
    ):
        if NO_BROKER in {source, target}:
            continue
        involved = (names[client], old_network.brokers[source], new_network.brokers[target])
        if involved[1] != involved[2]:
            shared = (
                _shared_count(old, old_clients, client, source),
                _shared_count(new, new_clients, client, target),
            )
            is_leaving = involved[1] not in new_network.brokers
            steps.append(_move(involved, shared, placement, is_leaving=is_leaving))
    return tuple(steps)


def _move(
    involved: tuple[str, str, str], shared: tuple[int, int], placement: str, *, is_leaving: bool
) -> Step:
    client, source, target = involved
    wanted = f"{target} wants {shared[1]} of the topics of {client} for other clients too"
    if is_leaving:
        why = f"{source} leaves the network, and {wanted}."
    elif shared[1] > shared[0]:
        why = f"{wanted}, {source} only {shared[0]}."
    else:
        why = f"{client} goes from {source} to {target} to even out the load or to be near."
    return Step(
        action="move_client",
        brokers=involved,
        why=why,
        algorithm=placement,
        metric="topics_shared",
        before=float(shared[0]),
        after=float(shared[1]),
    )


def _shared_count(view: BrokerView, clients: Clients, client: int, broker: int) -> int:
    """Topics of a client that its broker wants for another client too."""
    return int(np.count_nonzero(view.reference_counts[broker, clients.interests.of(client)] > 1))
