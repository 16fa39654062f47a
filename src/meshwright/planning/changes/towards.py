"""A plan to a network that somebody chose: what has to change, whatever it saves."""

from __future__ import annotations

import msgspec

from meshwright.model.designs import design
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import counted
from meshwright.planning.arrangement.plan import arrange_towards
from meshwright.planning.changes.client_moves import SettledClients
from meshwright.planning.changes.clients import (
    Population,
    moves_between,
    resettled,
    summary_of_all,
)
from meshwright.planning.changes.links import link_plan
from meshwright.planning.changes.worth import overlay_worth, plan_of_worths
from meshwright.planning.placement.strategies import PlacementRules


def plan_towards(
    source: Overlay, target: Overlay, snapshot: Snapshot, weights: PriceWeights
) -> Plan:
    """Swaps where both overlays sit on the same positions, else links that come and go."""
    seats, others = (set((each.positions or {}).values()) for each in (source, target))
    is_arranged = design(target.design).forwarding == "rendezvous"
    if is_arranged and source.design == target.design and seats == others:
        return arrange_towards(source, target, snapshot, weights.delay)
    return link_plan(source, target, snapshot, weights, only_if_worth=False)


def plan_towards_placement(
    overlays: tuple[Overlay, Overlay],
    snapshot: Snapshot,
    population: Population,
    seats: Int32Array,
    placement: str,
    *,
    weights: PriceWeights,
    rules: PlacementRules | None = None,
) -> tuple[Plan, Snapshot]:
    """The same with clients where a placement has them in the end, and the network as it is then.

    overlays: today's and the chosen one. seats: the broker of each client by the placement,
    (client,). Who gains nothing by a move of its own stays where it is.
    """
    before = population.clients
    settled = SettledClients(
        before.brokers, before.moved_to(seats), population.clusters, placement, rules
    )
    settled.send_idle_back()
    after = resettled(snapshot, settled.clients)
    plan = plan_towards(*overlays, after, weights)
    moves = moves_between(population.names, (snapshot, before), (after, settled), placement)
    if not moves:
        return plan_towards(*overlays, snapshot, weights), snapshot
    whole = plan_of_worths(
        *overlays,
        (
            overlay_worth(plan.source, snapshot, weights),
            overlay_worth(plan.target, after, weights),
        ),
        weights,
        steps=(*plan.steps, *moves),
        change_messages=plan.reconfiguration_cost + len(moves),
        summary="",
    )
    who = f"{placement} moves {len(moves):,} of {counted(before.count, 'client')}"
    return msgspec.structs.replace(whole, summary=summary_of_all(whole, who)), after
