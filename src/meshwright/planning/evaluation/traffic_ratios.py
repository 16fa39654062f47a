"""SHG against Scribe, in closed form: how much traffic events and subscriptions cause.

Brokers subscribe to patterns, an event matches several of them. Scribe has a tree for each pattern,
so an event is published once to every pattern it matches; SHG sends it once, to whoever wants any
of them. The ratios are BT(e) and BT(p) of the paper, which quotes no number. [SHG, 2.3]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.identifiers import TopicName
from meshwright.model.interests import Int64Array, Interests, interests_from_pairs
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.forwarding import Totals
from meshwright.planning.evaluation.partition import Partition
from meshwright.planning.evaluation.rendezvous import Rendezvous


@dataclass(frozen=True, slots=True)
class TrafficRatios:
    """Messages on the hypercube over messages in the trees, the publishers being any broker."""

    events: float
    subscriptions: float


def traffic_ratios(
    trees: Rendezvous, patterns: Partition, events: Partition, matches: Interests
) -> TrafficRatios:
    """BT(e) and BT(p).

    trees, patterns: forwarding of the patterns as topics. events: of the events as topics, as
    event_snapshot makes them. matches: events by patterns.
    """
    tree_totals = trees.totals()
    published = np.bincount(matches.columns, minlength=matches.column_count)
    tree_events = int(_messages(tree_totals) @ published)
    return TrafficRatios(
        events=int(_messages(events.totals()).sum()) / tree_events,
        subscriptions=patterns.all_subscriptions() / trees.all_subscriptions(),
    )


def event_snapshot(patterns: Snapshot, matches: Interests) -> Snapshot:
    """The same brokers, each interested in the events that match a pattern it wants."""
    wanted = patterns.interests.dense().astype(np.int64) @ matches.dense().T
    brokers, events = np.nonzero(wanted)
    return Snapshot(
        brokers=patterns.brokers,
        topics=tuple(TopicName(f"event {index}") for index in range(matches.row_count)),
        interests=interests_from_pairs(brokers, events, len(patterns.brokers), matches.row_count),
        publications=np.ones(matches.row_count, dtype=np.float64),
        delays_ms=patterns.delays_ms,
    )


def _messages(totals: Totals) -> Int64Array:
    return totals.entry + totals.internal + totals.external
