"""What speaks against a plan, found by comparing the network before it with the one after it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from meshwright.model.evaluation import Evaluation
from meshwright.model.interests import BoolArray
from meshwright.model.objections import Objections, WorseMetric, WorseTopic
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.planning.changes.worth import Worth, plan_price, worth_of
from meshwright.planning.evaluation.evaluate import evaluation_of, forwarding_of
from meshwright.planning.evaluation.forwarding import Totals

DEFAULT_WEIGHTS = PriceWeights()
CLIENTS_PER_S = 500.0  # that a broker sends away in a second, where nobody says otherwise
TOPICS_NAMED = 5
# A figure that grows by less than this share is rounding.
ROUNDING_SHARE = 1e-9

# Figures of the whole network; all but the last get worse by growing.
METRICS = (
    "messages_per_publication",
    "messages_external",
    "delay_hops_mean",
    "delay_ms_mean",
    "management_messages_mean",
    "degree_mean",
    "degree_max",
    "diameter_max",
    "load_spread",
    "deliveries_missed",
    "k_held",
)


def objections_to(
    plan: Plan,
    before: Snapshot,
    after: Snapshot | None = None,
    *,
    clients_per_s: float = CLIENTS_PER_S,
    data_until_us: int | None = None,
    sights: tuple[Sight, Sight] | None = None,
) -> Objections:
    """What speaks against a plan.

    before, after: the network as it is, and with clients where the plan moves them; None for after
    where it moves none. Both have the same topics. clients_per_s: how many clients a broker sends
    away in a second; 0 for all at once. sights: of both networks, where they are known already.
    """
    moves = plan.client_moves()
    leaving = Counter(move.source for move in moves)
    busiest = max(leaving.values(), default=0)
    metrics: tuple[WorseMetric, ...] = ()
    topics: tuple[WorseTopic, ...] = ()
    count = 0
    if plan.steps and not plan.is_first:
        old, new = sights or plan_sights(plan, before, after)
        metrics = (*_dearer(old, new), *_worse_metrics(old, new))
        topics, count = _worse_topics(old, new, before)
    return Objections(
        clients_reconnecting=len(moves),
        move_messages=plan.reconfiguration_cost,
        move_s=busiest / clients_per_s if clients_per_s else 0.0,
        clients_per_s=clients_per_s,
        metrics=metrics,
        topics=topics,
        worse_topic_count=count,
        data_until_us=data_until_us,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """One overlay: its row of metrics, and by topic the mean figures of one publication."""

    evaluation: Evaluation
    worth: Worth
    messages: Float64Array
    delay_hops: Float64Array
    delay_ms: Float64Array | None
    deliveries: Float64Array
    made_share: float


def plan_sights(
    plan: Plan,
    before: Snapshot,
    after: Snapshot | None = None,
    weights: PriceWeights = DEFAULT_WEIGHTS,
) -> tuple[Sight, Sight]:
    """The network before a plan and after it; the same one where the plan changes nothing."""
    old = _sight(plan.source, before, weights)
    if not plan.steps:
        return old, old
    return old, _sight(plan.target, before if after is None else after, weights)


def _sight(overlay: Overlay, snapshot: Snapshot, weights: PriceWeights) -> Sight:
    totals = forwarding_of(overlay, snapshot).totals()
    publishers = len(snapshot.brokers)
    # Of a topic that nobody wants, nothing is delivered and nothing is waited for.
    delivered = np.maximum(totals.delivered, 1).astype(np.float64)
    wanted = (totals.delivered + totals.missed).astype(np.float64)
    messages = (totals.internal + totals.external + totals.entry) / publishers
    all_made = float(totals.delivered @ snapshot.publications)
    return Sight(
        evaluation_of(overlay, snapshot, totals),
        worth_of(overlay, snapshot, totals, weights),
        messages * np.maximum(wanted, 1.0) / delivered,
        totals.delay_hops / delivered,
        None if totals.delay_ms is None else totals.delay_ms / delivered,
        wanted / publishers,
        all_made / (float(wanted @ snapshot.publications) or 1.0) if _misses(totals) else 1.0,
    )


def _misses(totals: Totals) -> bool:
    return bool(np.any(totals.missed))


def _dearer(old: Sight, new: Sight) -> tuple[WorseMetric, ...]:
    """The price of a publication, without deliveries that are missed before and the change."""
    price = plan_price(old.worth, new.worth, 0.0, DEFAULT_WEIGHTS)
    before, after = price.before.total, price.after.total
    after -= price.newly_made / (price.publications or 1.0)
    if after - before <= ROUNDING_SHARE * max(before, after):
        return ()
    return (WorseMetric(metric="price", before=before, after=after),)


def _worse_metrics(old: Sight, new: Sight) -> tuple[WorseMetric, ...]:
    found = []
    for metric in METRICS:
        before, after = _figure(old, metric), _figure(new, metric)
        if before is None or after is None:
            continue
        grown = before - after if metric == "k_held" else after - before
        if grown > ROUNDING_SHARE * max(abs(before), abs(after)):
            found.append(WorseMetric(metric=metric, before=before, after=after))
    return tuple(found)


def _figure(sight: Sight, metric: str) -> float | None:
    """A metric; sums of messages are those that all deliveries would take at the same price."""
    value = getattr(sight.evaluation, metric)
    if value is None:
        return None
    if metric in {"messages_per_publication", "messages_external"}:
        return float(value) / (sight.made_share or 1.0)
    return float(value)


def _worse_topics(old: Sight, new: Sight, snapshot: Snapshot) -> tuple[tuple[WorseTopic, ...], int]:
    """Topics with more messages or more delay, most harm over the horizon first, and how many."""
    worse = _grows(old.messages, new.messages) | _grows(old.delay_hops, new.delay_hops)
    if old.delay_ms is not None and new.delay_ms is not None:
        worse |= _grows(old.delay_ms, new.delay_ms)
    worse &= snapshot.publications > 0.0
    more_messages = np.maximum(new.messages - old.messages, 0.0)
    more_hops = np.maximum(new.delay_hops - old.delay_hops, 0.0) * new.deliveries
    harm = snapshot.publications * (more_messages + more_hops)
    topics = np.flatnonzero(worse)
    worst = topics[np.argsort(-harm[topics], kind="stable")][:TOPICS_NAMED]
    return tuple(_topic(old, new, snapshot, int(topic)) for topic in worst), len(topics)


def _topic(old: Sight, new: Sight, snapshot: Snapshot, topic: int) -> WorseTopic:
    return WorseTopic(
        topic=snapshot.topics[topic],
        messages_before=float(old.messages[topic]),
        messages_after=float(new.messages[topic]),
        delay_hops_before=float(old.delay_hops[topic]),
        delay_hops_after=float(new.delay_hops[topic]),
        delay_ms_before=None if old.delay_ms is None else float(old.delay_ms[topic]),
        delay_ms_after=None if new.delay_ms is None else float(new.delay_ms[topic]),
    )


def _grows(before: Float64Array, after: Float64Array) -> BoolArray:
    grown: BoolArray = after - before > ROUNDING_SHARE * np.maximum(before, after)
    return grown
