"""Random small snapshots for the laws: whole numbers throughout, so that sums are exact."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot


@st.composite
def snapshots(draw: st.DrawFn, broker_count_min: int = 1, broker_count_max: int = 14) -> Snapshot:
    """Brokers with names in hash-unfriendly order, topics that some, all or none want."""
    broker_count = draw(st.integers(broker_count_min, broker_count_max))
    topic_count = draw(st.integers(1, 5))
    topics = st.sets(st.integers(0, topic_count - 1))
    wanted = draw(st.lists(topics, min_size=broker_count, max_size=broker_count))
    rates = draw(st.lists(st.integers(0, 9), min_size=topic_count, max_size=topic_count))
    seed = draw(st.integers(0, 2**16))
    delays = np.random.default_rng(seed).integers(1, 50, size=(broker_count, broker_count))
    return Snapshot(
        brokers=tuple(BrokerName(f"b{index}") for index in range(broker_count)),
        topics=tuple(TopicName(f"t{index}") for index in range(topic_count)),
        interests=interests_from_sets(wanted, topic_count),
        publications=np.array(rates, dtype=np.float64),
        delays_ms=delays.astype(np.float64) if draw(st.booleans()) else None,
    )
