"""A plan to an overlay that somebody chose: what has to change, whatever it saves."""

from __future__ import annotations

from meshwright.model.designs import design
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.arrangement.plan import arrange_towards
from meshwright.planning.changes.links import link_plan


def plan_towards(
    source: Overlay, target: Overlay, snapshot: Snapshot, weights: PriceWeights
) -> Plan:
    """Swaps where both overlays sit on the same positions, else links that come and go."""
    seats, others = (set((each.positions or {}).values()) for each in (source, target))
    is_arranged = design(target.design).forwarding == "rendezvous"
    if is_arranged and source.design == target.design and seats == others:
        return arrange_towards(source, target, snapshot, weights.delay)
    return link_plan(source, target, snapshot, weights, only_if_worth=False)
