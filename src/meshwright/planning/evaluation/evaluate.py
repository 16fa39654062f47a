"""One row of metrics for any overlay under any snapshot, and the exact counts behind it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meshwright.model.designs import ForwardingKind, design
from meshwright.model.evaluation import Evaluation
from meshwright.model.interests import Int64Array
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.acyclic import acyclic_of
from meshwright.planning.evaluation.forwarding import (
    Carrier,
    Forwarding,
    PublicationMessages,
    Totals,
    weighed_delays,
)
from meshwright.planning.evaluation.partition import partition_of
from meshwright.planning.evaluation.rendezvous import rendezvous_of
from meshwright.planning.evaluation.topic_connected import topic_connected_of
from meshwright.planning.evaluation.topic_trees import tree_carrier_of

FORWARDINGS: dict[ForwardingKind, Callable[[Overlay, Snapshot], Forwarding]] = {
    "rendezvous": rendezvous_of,
    "partition": partition_of,
    "topic_connected": topic_connected_of,
    "acyclic": acyclic_of,
}

CARRIERS: dict[ForwardingKind, Callable[[Overlay, Snapshot], Carrier]] = {
    "rendezvous": tree_carrier_of,
    "partition": partition_of,
    "topic_connected": topic_connected_of,
    "acyclic": acyclic_of,
}


def evaluate(overlay: Overlay, snapshot: Snapshot, *, delay_weight: float = 1.0) -> Evaluation:
    """The metrics of an overlay, with publishers where the snapshot has them, or anywhere alike."""
    totals = forwarding_of(overlay, snapshot).totals()
    return evaluation_of(overlay, snapshot, totals, delay_weight=delay_weight)


def evaluation_of(
    overlay: Overlay, snapshot: Snapshot, totals: Totals, *, delay_weight: float = 1.0
) -> Evaluation:
    """The metrics of an overlay whose exact counts are known."""
    publisher_count = len(snapshot.brokers)
    rates = snapshot.publications / publisher_count
    internal, external, entry = (
        float(messages @ rates) for messages in (totals.internal, totals.external, totals.entry)
    )
    deliveries = float(totals.delivered @ rates)
    delay_tree_hops = float(totals.delay_tree_hops @ rates)
    degrees = node_degrees(overlay)
    wanted = totals.diameters[snapshot.interests.transposed().counts() > 0]
    return Evaluation(
        design=overlay.design,
        messages_internal=internal,
        messages_external=external,
        messages_entry=entry,
        messages_per_publication=_ratio(
            internal + external + entry, float(snapshot.publications.sum())
        ),
        delay_hops_mean=_ratio(float(totals.delay_hops @ rates), deliveries),
        delay_tree_hops_mean=_ratio(delay_tree_hops, deliveries),
        delay_ms_mean=None
        if totals.delay_ms is None
        else _ratio(float(totals.delay_ms @ rates), deliveries),
        cost=external + delay_weight * float(weighed_delays(totals, snapshot) @ rates),
        management_messages_mean=_ratio(totals.management, snapshot.interests.pair_count),
        degree_mean=float(degrees.mean()),
        degree_max=int(degrees.max()),
        diameter_mean=float(wanted.mean()) if len(wanted) else 0.0,
        diameter_max=int(totals.diameters.max(initial=0)),
        k_held=totals.k_held,
        load_spread=_ratio(float(totals.loads.std()), float(totals.loads.mean())),
        deliveries_missed=float(totals.missed @ rates),
    )


def forwarding_of(overlay: Overlay, snapshot: Snapshot) -> Forwarding:
    """How the overlay forwards under the snapshot: keep it to ask for many counts."""
    return FORWARDINGS[design(overlay.design).forwarding](overlay, snapshot)


def carrier_of(overlay: Overlay, snapshot: Snapshot) -> Carrier:
    """The same for a replay, where only traffic and subscriptions are asked for.

    Topics of a snapshot may share a name: those of one topic at several times have one root.
    """
    return CARRIERS[design(overlay.design).forwarding](overlay, snapshot)


def publication_messages(
    overlay: Overlay, snapshot: Snapshot, topic: int, publisher: int
) -> PublicationMessages:
    """The exact messages of one publication of a topic that enters at the publisher's broker."""
    return forwarding_of(overlay, snapshot).publication(topic, publisher)


def management_messages(overlay: Overlay, snapshot: Snapshot, topic: int, broker: int) -> int:
    """The exact messages of one broker's subscribing, all other interested brokers standing."""
    return forwarding_of(overlay, snapshot).subscription(topic, broker)


def node_degrees(overlay: Overlay) -> Int64Array:
    """Links of each broker, in the overlay's order: (broker,)."""
    indexes = {name: index for index, name in enumerate(overlay.brokers)}
    ends = np.array([indexes[name] for link in overlay.links for name in link], dtype=np.int64)
    return np.bincount(ends, minlength=len(overlay.brokers))


def _ratio(part: float, whole: float) -> float:
    """A mean that is 0 where there is nothing to take it over."""
    return part / whole if whole else 0.0
