"""What each broker of a running network wants, by topic, as brokers themselves say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from meshwright.filters.taking import pairs_taken
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.protocol.inspection import BrokerView

Wanted = dict[str, tuple[str, ...]]


def wanted_of(views: Iterable[BrokerView]) -> Wanted:
    """Topics by broker, sorted.

    Wildcards take the topics that anybody wants by name, and those that brokers have found.
    """
    seen = sorted(views, key=lambda view: view.broker)
    wanted: dict[str, list[str]] = {view.broker: [] for view in seen}
    holdings = ((view.broker, one.filter) for view in seen for one in view.interests)
    for broker, topic in pairs_taken(
        holdings, {t: None for view in seen for t in view.found_topics}
    ):
        wanted[broker].append(topic)
    return {broker: tuple(topics) for broker, topics in wanted.items()}


def snapshot_of(wanted: Mapping[str, tuple[str, ...]], brokers: tuple[str, ...]) -> Snapshot:
    """The network of these brokers, where every topic is published once."""
    topics = sorted({topic for of in wanted.values() for topic in of})
    columns = {topic: column for column, topic in enumerate(topics)}
    rows = [[columns[topic] for topic in wanted.get(name, ())] for name in brokers]
    return Snapshot(
        tuple(map(BrokerName, brokers)),
        tuple(map(TopicName, topics)),
        interests_from_sets(rows, len(topics)),
        np.ones(len(topics)),
    )
