"""What an overlay is worth under a snapshot, and a plan from what two of them are.

An algorithm lowers its own cost, relays and weighed hops. Whether a plan pays is judged by the one
price, with all its parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from meshwright.model.interests import BoolArray
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, PlanPrice, Step
from meshwright.model.price import Price, PriceWeights
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.planning.evaluation.evaluate import carrier_of, evaluation_of, forwarding_of
from meshwright.planning.evaluation.forwarding import Totals, Traffic, weighed_delays
from meshwright.planning.pricing import price_of


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """Sums over the horizon: cost = overhead_external + delay weight * delay in hops.

    Where delays are known, a hop counts as its delay over that of the mean hop.
    topic_costs, topics_missed: the cost and the missed deliveries of each topic, (topic,).
    delay_ms: the mean of a delivery, or None where the snapshot knows no delays.
    price: of a publication. topic_prices: its messages, relays and delay, times the publications
    of the topic, (topic,). publications: those of the horizon.
    """

    cost: float
    overhead_external: float
    delay: float
    delay_ms: float | None
    topic_costs: Float64Array
    topics_missed: Float64Array
    price: Price
    topic_prices: Float64Array
    publications: float

    @property
    def missed(self) -> float:
        """Deliveries that the overlay does not make."""
        return float(self.topics_missed.sum())


def overlay_worth(overlay: Overlay, snapshot: Snapshot, weights: PriceWeights) -> Worth:
    """The parts of an overlay's cost and price, in closed form."""
    return worth_of(overlay, snapshot, forwarding_of(overlay, snapshot).totals(), weights)


def worth_of(overlay: Overlay, snapshot: Snapshot, totals: Totals, weights: PriceWeights) -> Worth:
    """The same of an overlay whose exact counts are known."""
    rates = snapshot.publications / len(snapshot.brokers)
    external, delays = totals.external * rates, weighed_delays(totals, snapshot) * rates
    sent = totals.internal + totals.entry + weights.relay * totals.external
    return Worth(
        cost=float(external.sum() + weights.delay * delays.sum()),
        overhead_external=float(external.sum()),
        delay=float(delays.sum()),
        delay_ms=_mean_delay_ms(totals, snapshot),
        topic_costs=external + weights.delay * delays,
        topics_missed=totals.missed * rates,
        price=price_of(evaluation_of(overlay, snapshot, totals), snapshot, weights),
        topic_prices=(sent + weights.delay * totals.delay_hops) * rates,
        publications=float(snapshot.publications.sum()),
    )


def carried_delay_ms(overlay: Overlay, snapshot: Snapshot) -> float | None:
    """The mean delay of a delivery in milliseconds; None where no delays are known."""
    return _mean_delay_ms(carrier_of(overlay, snapshot).traffic(), snapshot)


def _mean_delay_ms(traffic: Traffic, snapshot: Snapshot) -> float | None:
    if traffic.delay_ms is None:
        return None
    deliveries = float(traffic.delivered @ snapshot.publications)
    return float(traffic.delay_ms @ snapshot.publications) / (deliveries or 1.0)


def newly_made_cost(before: Worth, after: Worth) -> float:
    """The cost that comes with deliveries which are missed before, topic by topic."""
    more = np.maximum(after.topic_costs - before.topic_costs, 0.0)
    return float(np.sum(more, where=_is_better_served(before, after)))


def plan_price(
    before: Worth, after: Worth, change_messages: float, weights: PriceWeights
) -> PlanPrice:
    """What a publication costs before and after, the change included."""
    published = before.publications
    change = weights.reconfiguration * change_messages / published if published else 0.0
    return PlanPrice(
        before=before.price,
        after=msgspec.structs.replace(after.price, reconfiguration=change),
        publications=published,
        newly_made=_newly_made_price(before, after),
    )


def _newly_made_price(before: Worth, after: Worth) -> float:
    """What comes with deliveries that are missed before, over the horizon.

    That is what their topics cost more, and the links and subscriptions without which nobody would
    get them.
    """
    is_better_served = _is_better_served(before, after)
    if not is_better_served.any():
        return 0.0
    more = np.maximum(after.topic_prices - before.topic_prices, 0.0)
    means = max(after.price.links - before.price.links, 0.0)
    means += max(after.price.management - before.price.management, 0.0)
    return float(np.sum(more, where=is_better_served)) + means * before.publications


def _is_better_served(before: Worth, after: Worth) -> BoolArray:
    is_better: BoolArray = after.topics_missed < before.topics_missed
    return is_better


def priced(plan: Plan, worths: tuple[Worth, Worth], weights: PriceWeights) -> Plan:
    """The plan with its price; its net benefit is what it saves by that."""
    price = plan_price(*worths, plan.reconfiguration_cost, weights)
    return msgspec.structs.replace(plan, price=price, net_benefit=price.saved)


def plan_of_worths(
    source: Overlay,
    target: Overlay,
    worths: tuple[Worth, Worth],
    weights: PriceWeights,
    *,
    steps: tuple[Step, ...],
    change_messages: float,
    summary: str,
) -> Plan:
    """A plan whose figures are those of its two overlays."""
    before, after = worths
    price = plan_price(before, after, change_messages, weights)
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
        reconfiguration_cost=change_messages,
        net_benefit=price.saved,
        moved=_moved_count(source, target),
        summary=summary,
        price=price,
    )


def _moved_count(source: Overlay, target: Overlay) -> int:
    """Brokers with another position or another link."""
    old, new = ({frozenset(link) for link in overlay.links} for overlay in (source, target))
    moved = {broker for link in old ^ new for broker in link}
    seats, others = source.positions or {}, target.positions or {}
    return len(moved | {name for name in source.brokers if seats.get(name) != others.get(name)})
