"""Clients in a plan: who moves to which broker by a placement rule, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from meshwright.model.designs import founded_as
from meshwright.model.identifiers import BrokerName, ClientName
from meshwright.model.interests import Int32Array, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, Step
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import amount, counted
from meshwright.planning.changes.client_moves import SettledClients, move_step
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.changes.worth import overlay_worth, plan_of_worths, priced
from meshwright.planning.placement.clients import (
    NO_BROKER,
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

    clusters: (broker,); a client moves within its own. staying: those that cannot be told to go to
    another broker, and only leave one that goes.
    """

    names: tuple[ClientName, ...]
    clients: Clients
    clusters: Int32Array
    staying: frozenset[ClientName] = frozenset()

    def stays(self) -> NDArray[np.bool_]:
        """Who cannot be moved from the broker that it has, (client,)."""
        known = np.array([name in self.staying for name in self.names], dtype=np.bool_)
        found: NDArray[np.bool_] = known & (self.clients.brokers != NO_BROKER)
        return found


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
    where they go. A hand-over is one message; with the objective `net` clients stay unless that
    saves more, by the price of a publication, than a plan without their moves.
    """
    before = population.clients
    settled = gathered(population, len(snapshot.brokers), placement, rules=rules, seed=seed)
    moved = resettled(snapshot, settled.clients)
    plan = plan_network(moved, wish, source=source, seed=seed)
    steps = moves_between(population.names, (snapshot, before), (snapshot, settled), placement)
    if not steps:
        return plan
    today = overlay_worth(plan.source, snapshot, wish.price_weights)
    whole = plan_of_worths(
        plan.source,
        plan.target,
        (today, overlay_worth(plan.target, moved, wish.price_weights)),
        wish.price_weights,
        steps=(*plan.steps, *steps),
        change_messages=plan.reconfiguration_cost + len(steps),
        summary="",
    )
    if wish.objective == "net":
        staying = plan_network(snapshot, wish, source=source, seed=seed)
        then = overlay_worth(staying.target, snapshot, wish.price_weights)
        without = priced(staying, (today, then), wish.price_weights)
        if whole.net_benefit <= max(without.net_benefit, 0.0):
            return staying
    who = f"{placement} moves {len(steps):,} of {_told(population)}"
    return msgspec.structs.replace(whole, summary=summary_of_all(whole, who))


def gathered(
    population: Population,
    broker_count: int,
    placement: str,
    *,
    rules: PlacementRules | None = None,
    seed: int = 0,
) -> SettledClients:
    """Clients where the rule sends them; asked anew while brokers want fewer topics by it.

    Who gains nothing by its own move, when all have moved, stays where it is.
    """
    rng = np.random.default_rng(seed)
    found: Clients = population.clients
    asking = ~population.stays() if population.staying else None
    pair_count: float = math.inf
    for _ in range(ROUNDS_MAX.get(placement, 1)):
        view = view_of(found, broker_count)
        problem = PlacementProblem(found, view, population.clusters, asking=asking)
        placed = found.moved_to(place(problem, placement, rng, rules=rules).brokers)
        count = int(np.count_nonzero(view_of(placed, broker_count).reference_counts))
        if count >= pair_count:
            break
        found, pair_count = placed, count
    came_from = population.clients.brokers
    settled = SettledClients(came_from, found, population.clusters, placement, rules)
    settled.send_idle_back()
    return settled


def _told(population: Population) -> str:
    clients = counted(len(population.names), "client")
    stuck = int(np.count_nonzero(population.stays()))
    if not stuck:
        return clients
    return (
        f"{clients} ({stuck:,} of these {len(population.names):,} cannot be told to go elsewhere)"
    )


def summary_of_all(plan: Plan, who: str) -> str:
    """One sentence of what happens to overlay and clients; its price says what that is worth."""
    joined = (
        f"{counted(plan.moved, 'broker')} get other places or links"
        if plan.moved
        else "every broker stays where it is"
    )
    takes = f"for {amount(plan.reconfiguration_cost)} messages"
    if plan.is_first:
        links = counted(len(plan.target.links), "link")
        return f"No link stands: {founded_as(plan.target)} builds {links}, and {who}, {takes}."
    made = plan.cost.missed_before - plan.cost.missed_after
    mended = f"; {amount(made)} deliveries that are missed today are made" if made > 0 else ""
    return f"{who}, and {joined}, {takes}{mended}."


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
    after: tuple[Snapshot, SettledClients],
    placement: str,
) -> tuple[Step, ...]:
    """A step for every client that has a broker and gets another; brokers may differ, too."""
    (old_network, old_clients), (new_network, settled) = before, after
    new = settled.clients.brokers.tolist()
    steps = []
    for client, (source, target) in enumerate(zip(old_clients.brokers.tolist(), new, strict=True)):
        if NO_BROKER in {source, target}:
            continue
        involved = (names[client], old_network.brokers[source], new_network.brokers[target])
        if involved[1] != involved[2]:
            gain = settled.gain(client)
            assert gain is not None, f"{names[client]} moves without a reason"
            steps.append(move_step(involved, gain, placement))
    return tuple(steps)
