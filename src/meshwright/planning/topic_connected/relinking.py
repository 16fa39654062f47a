"""How the links of a topic-connected overlay follow brokers whose interests changed."""

from __future__ import annotations

import numpy as np

from meshwright.model.interests import Int32Array, Int64Array, Interests
from meshwright.model.snapshot import Snapshot
from meshwright.planning.topic_connected.greedy import bulk_threshold, minmax, rows_of
from meshwright.planning.topic_connected.validation import is_topic_connected


def dcbm_relinked(
    links: Int32Array,
    interests: Interests,
    changed: Int32Array,
    *,
    bulk_topic_count: float | None = None,
) -> Int32Array:
    """Links by DCB-M on the part whose subscriptions changed, if a topic broke [DYNATOPS, IV.B].

    Brokers that changed lose their links and form one part; those of few topics are joined among
    themselves, then all are combined with the rest. Where every topic holds, nothing changes.
    """
    if is_topic_connected(links, interests):
        return links
    standing = links[~np.isin(links, changed).any(axis=1)]
    counts = interests.counts()
    if bulk_topic_count is None:
        bulk_topic_count = bulk_threshold(counts)
    light = np.sort(changed[counts[changed] <= bulk_topic_count])
    inside = light[minmax(rows_of(interests, light))]
    standing = np.concatenate([standing, inside]).astype(np.int32)
    return np.concatenate([standing, minmax(interests, standing=standing)])


def changed_brokers(before: Snapshot, after: Snapshot) -> Int32Array:
    """Brokers that want other topics than before, ascending; both snapshots number them alike."""
    assert before.brokers == after.brokers
    numbers: dict[str, int] = {topic: number for number, topic in enumerate(before.topics)}
    for topic in after.topics:
        numbers.setdefault(topic, len(numbers))
    former, present = (_pairs(snapshot, numbers) for snapshot in (before, after))
    pairs = np.setxor1d(former, present, assume_unique=True)
    return np.unique(pairs // max(len(numbers), 1)).astype(np.int32)


def _pairs(snapshot: Snapshot, numbers: dict[str, int]) -> Int64Array:
    """Broker and topic of every interest, as one number: (pair,)."""
    topics = np.array([numbers[topic] for topic in snapshot.topics], dtype=np.int64)
    interests = snapshot.interests
    return interests.row_of_pairs() * np.int64(len(numbers)) + topics[interests.columns]
