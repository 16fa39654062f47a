"""The one price: of an overlay under a snapshot, part by part, and of a change of overlay."""

from __future__ import annotations

import math

from meshwright.model.evaluation import Evaluation
from meshwright.model.overlay import Overlay
from meshwright.model.price import Price, PriceWeights
from meshwright.model.snapshot import Snapshot


def price_of(
    found: Evaluation, snapshot: Snapshot, weights: PriceWeights, change_messages: float = 0.0
) -> Price:
    """The price of a publication; every interest of the snapshot is told once in its horizon.

    change_messages: of the change from today's overlay, which this horizon has to pay. Where
    nothing is published, only links cost something.
    """
    publications = float(snapshot.publications.sum()) or math.inf
    deliveries = float(snapshot.interests.transposed().counts() @ snapshot.publications)
    hops = (deliveries - found.deliveries_missed) * found.delay_hops_mean
    told = found.management_messages_mean * snapshot.interests.pair_count
    return Price(
        messages=(found.messages_internal + found.messages_entry) / publications,
        relays=weights.relay * found.messages_external / publications,
        delay=weights.delay * hops / publications,
        management=weights.management * told / publications,
        reconfiguration=weights.reconfiguration * change_messages / publications,
        links=weights.link * found.degree_mean,
    )


def link_changes(source: Overlay | None, target: Overlay) -> float:
    """Links that differ, a message each [DYNATOPS, 1.7]; none where nothing stands yet."""
    if source is None:
        return 0.0
    old, new = ({frozenset(link) for link in overlay.links} for overlay in (source, target))
    return float(len(old ^ new))


def shape_of(broker_count: int, degree_mean: float, degree_max: int) -> str:
    """What an overlay is that no design's name need say: a full mesh, a star, or neither."""
    if broker_count > 2 and degree_mean == broker_count - 1:
        return "a full mesh"
    link_count = degree_mean * broker_count / 2
    if broker_count > 3 and degree_max == broker_count - 1 == round(link_count):
        return "a star, in which nothing passes once its middle is lost"
    return ""
