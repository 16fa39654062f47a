"""Messages counted against the closed form of planning, for a run in which nothing changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from meshwright.history.violation import Violation
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.evaluate import forwarding_of, management_messages

# A topic and a broker, as indexes into a snapshot.
At = tuple[int, int]


def miscounted(counted: Mapping[str, int], expected: Mapping[str, int]) -> list[Violation]:
    """Every class of which another number was counted than expected."""
    return [
        Violation(
            checker="closed_form",
            sentence=f"{counted.get(name, 0)} messages of class {name} where {count} are due",
            time_us=0,
        )
        for name, count in expected.items()
        if counted.get(name, 0) != count
    ]


def publications_due(overlay: Overlay, snapshot: Snapshot, published: Iterable[At]) -> int:
    """Messages of publications that entered at these brokers, all interests standing."""
    forwarding = forwarding_of(overlay, snapshot)
    totals: dict[At, int] = {}
    due = 0
    for at in published:
        if at not in totals:
            totals[at] = forwarding.publication(*at).total
        due += totals[at]
    return due


def subscriptions_due(overlay: Overlay, snapshot: Snapshot, subscribed: Iterable[At]) -> int:
    """Messages of brokers that subscribed one after the other, each to the overlay as it was."""
    due = 0
    standing: list[At] = []
    shape = (len(snapshot.brokers), len(snapshot.topics))
    for topic, broker in subscribed:
        standing.append((topic, broker))
        topics, brokers = np.array(standing, dtype=np.int64).T
        interests = interests_from_pairs(brokers, topics, *shape)
        then = replace(snapshot, interests=interests)
        due += management_messages(overlay, then, topic, broker)
    return due
