"""Topics that fall apart too easily: k held, exactly, on the links that stand."""

from __future__ import annotations

from meshwright.history.violation import Violation
from meshwright.model.designs import design
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.topic_connected.validation import failing_topics


def k_not_held(
    overlay: Overlay, snapshot: Snapshot, k: int, *, time_us: int = 0
) -> list[Violation]:
    """Every topic whose brokers are not k-connected; other kinds of design promise nothing."""
    if design(overlay.design).forwarding != "topic_connected":
        return []
    failing = failing_topics(link_indexes(overlay, snapshot), snapshot.interests, k)
    return [
        Violation(
            checker="k_held",
            sentence=f"fewer than {k} brokers can part the brokers of {snapshot.topics[topic]}",
            time_us=time_us,
            topic=snapshot.topics[topic],
        )
        for topic in failing.tolist()
    ]
