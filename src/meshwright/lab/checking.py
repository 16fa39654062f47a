"""Which topics an overlay does not hold together as wanted."""

from __future__ import annotations

import msgspec
import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.topic_connected.validation import k_held, refuse_large_k


class FailingTopic(msgspec.Struct, frozen=True):
    """A topic, the number of brokers that want it, and how many must die to part them."""

    topic: str
    members: int
    k_held: int


def failing_topics(overlay: Overlay, snapshot: Snapshot, k: int) -> list[FailingTopic]:
    """Topics that are not k-connected among their own brokers, nor a clique of at most k."""
    refuse_large_k(k, len(snapshot.brokers))
    members = snapshot.interests.transposed().counts()
    held = k_held(link_indexes(overlay, snapshot), snapshot.interests, k)
    return [
        FailingTopic(snapshot.topics[topic], int(members[topic]), int(held[topic]))
        for topic in np.flatnonzero(held < np.minimum(k, members - 1)).tolist()
    ]
