"""The one door to a plan that somebody is asked to accept: with what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.clients import Population, plan_with_clients, snapshot_after
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.changes.objections import CLIENTS_PER_S, objections_to


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Circumstances:
    """What a plan is made in, beside the snapshot.

    source: the overlay in force, or None for where the design begins. placement: the rule by which
    the population may move, or None where clients stay. clients_per_s: how fast clients are moved.
    data_until_us: the time of the last thing that the snapshot knows of.
    """

    source: Overlay | None = None
    population: Population | None = None
    placement: str | None = None
    clients_per_s: float = CLIENTS_PER_S
    data_until_us: int | None = None
    seed: int = 0


def propose(snapshot: Snapshot, wish: PlanWish, around: Circumstances) -> Plan:
    """A plan as wished, and what speaks against it."""
    population, placement = around.population, around.placement
    if placement is None or population is None:
        plan = plan_network(snapshot, wish, source=around.source, seed=around.seed)
    else:
        plan = plan_with_clients(
            snapshot, wish, population, placement, source=around.source, seed=around.seed
        )
    after = None if population is None else snapshot_after(snapshot, population, plan)
    against = objections_to(
        plan,
        snapshot,
        after,
        clients_per_s=around.clients_per_s,
        data_until_us=around.data_until_us,
    )
    return msgspec.structs.replace(plan, against=against)
