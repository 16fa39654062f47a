"""What an overlay costs under a snapshot, and a plan from what two of them do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.planning.evaluation.evaluate import carrier_of
from meshwright.planning.evaluation.forwarding import weighed_delays


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """Sums over the horizon: cost = overhead_external + delay weight * delay in hops.

    Where delays are known, a hop counts as its delay over that of the mean hop.
    topic_costs, topics_missed: the cost and the missed deliveries of each topic, (topic,).
    delay_ms: the mean of a delivery, or None where the snapshot knows no delays.
    """

    cost: float
    overhead_external: float
    delay: float
    delay_ms: float | None
    topic_costs: Float64Array
    topics_missed: Float64Array

    @property
    def missed(self) -> float:
        """Deliveries that the overlay does not make."""
        return float(self.topics_missed.sum())


def overlay_worth(overlay: Overlay, snapshot: Snapshot, delay_weight: float) -> Worth:
    """The parts of an overlay's cost, in closed form."""
    traffic = carrier_of(overlay, snapshot).traffic()
    rates = snapshot.publications / len(snapshot.brokers)
    external, delays = traffic.external * rates, weighed_delays(traffic, snapshot) * rates
    deliveries = float(traffic.delivered @ rates)
    delay_ms = None if traffic.delay_ms is None else float(traffic.delay_ms @ rates)
    return Worth(
        cost=float(external.sum() + delay_weight * delays.sum()),
        overhead_external=float(external.sum()),
        delay=float(delays.sum()),
        delay_ms=None if delay_ms is None else delay_ms / (deliveries or 1.0),
        topic_costs=external + delay_weight * delays,
        topics_missed=traffic.missed * rates,
    )


def newly_made_cost(before: Worth, after: Worth) -> float:
    """The cost that comes with deliveries which are missed before, topic by topic."""
    is_better_served = after.topics_missed < before.topics_missed
    more = np.maximum(after.topic_costs - before.topic_costs, 0.0)
    return float(np.sum(more, where=is_better_served))


def saving(before: Worth, after: Worth) -> float:
    """By how much the cost falls for the deliveries that are made before, too."""
    return before.cost - (after.cost - newly_made_cost(before, after))


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
            missed_before=before.missed,
            missed_after=after.missed,
            newly_made=newly_made_cost(before, after),
            delay_ms_before=before.delay_ms,
            delay_ms_after=after.delay_ms,
        ),
        reconfiguration_cost=price,
        net_benefit=saving(before, after) - price,
        moved=_moved_count(source, target),
        summary=summary,
    )


def _moved_count(source: Overlay, target: Overlay) -> int:
    """Brokers with another position or another link."""
    old, new = ({frozenset(link) for link in overlay.links} for overlay in (source, target))
    moved = {broker for link in old ^ new for broker in link}
    seats, others = source.positions or {}, target.positions or {}
    return len(moved | {name for name in source.brokers if seats.get(name) != others.get(name)})
