"""What each broker of a running network wants, by topic, as brokers themselves say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.topics import has_wildcard
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.protocol.inspection import BrokerView

Wanted = dict[str, tuple[str, ...]]


def wanted_of(views: Iterable[BrokerView]) -> Wanted:
    """Topics by broker, sorted. Wildcards stand for the topics that anybody wants by name."""
    filters = {view.broker: [parse_filter(one.filter) for one in view.interests] for view in views}
    topics = sorted(
        {one.topic_filter for of in filters.values() for one in of if not has_wildcard(one.levels)}
    )
    return {
        broker: tuple(topic for topic in topics if any(_wants(one, topic) for one in wanted))
        for broker, wanted in sorted(filters.items())
    }


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


def _wants(wanted: Filter, topic: str) -> bool:
    """Whether a filter may match a message to a topic; content is not looked at."""
    return matches(Filter(wanted.topic_filter), topic)
