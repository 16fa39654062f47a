"""What an overlay costs under a snapshot, and a plan from what two of them do."""

from __future__ import annotations

from dataclasses import dataclass

from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.evaluate import evaluate


@dataclass(frozen=True, slots=True)
class Worth:
    """Sums over the horizon: cost = overhead_external + delay weight * delay; missed deliveries."""

    cost: float
    overhead_external: float
    delay: float
    missed: float


def overlay_worth(overlay: Overlay, snapshot: Snapshot, delay_weight: float) -> Worth:
    """The parts of an overlay's cost, in closed form."""
    # With a weight of one, what is not overhead is delay.
    found = evaluate(overlay, snapshot, delay_weight=1.0)
    external = found.messages_external
    delay = found.cost - external
    return Worth(external + delay_weight * delay, external, delay, found.deliveries_missed)


def plan_of_worths(
    source: Overlay,
    target: Overlay,
    worths: tuple[Worth, Worth],
    *,
    steps: tuple[Step, ...],
    price: float,
    summary: str,
) -> Plan:
    """A plan whose figures are those of its two overlays."""
    before, after = worths
    return Plan(
        source=source,
        target=target,
        steps=steps,
        cost=PlanCost(
            before=before.cost,
            after=after.cost,
            overhead_external_before=before.overhead_external,
            overhead_external_after=after.overhead_external,
            delay_before=before.delay,
            delay_after=after.delay,
        ),
        reconfiguration_cost=price,
        net_benefit=before.cost - after.cost - price,
        moved=_moved_count(source, target),
        summary=summary,
    )


def _moved_count(source: Overlay, target: Overlay) -> int:
    """Brokers with another position or another link."""
    old, new = ({frozenset(link) for link in overlay.links} for overlay in (source, target))
    moved = {broker for link in old ^ new for broker in link}
    seats, others = source.positions or {}, target.positions or {}
    return len(moved | {name for name in source.brokers if seats.get(name) != others.get(name)})
