"""Where publications enter: closed forms sum over publishers, and each counts as often as it does.

Sums are of as many publications of a topic as there are brokers: one at each, or, where a snapshot
knows the places of publishers, as many at each as is its share of the topic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.model.interests import Int64Array
from meshwright.model.snapshot import Float64Array, Snapshot


def publisher_weights(snapshot: Snapshot) -> Float64Array | None:
    """How often a publisher counts, (broker, topic), each topic's sum being the count of brokers.

    None: each once, as for a topic of which nothing is published.
    """
    entering = snapshot.publishers
    if entering is None:
        return None
    totals = entering.sum(axis=0)
    is_silent = totals <= 0.0
    weights: Float64Array = entering * (len(entering) / np.where(is_silent, 1.0, totals))
    weights[:, is_silent] = 1.0
    return weights


def over_publishers(
    values: NDArray[Any], columns: NDArray[np.integer], weights: Float64Array | None
) -> NDArray[Any]:
    """Sums over brokers of their values in the column of each topic: (topic,).

    values: (broker, column). columns: (topic,).
    """
    if weights is None:
        plain: NDArray[Any] = values.sum(axis=0, dtype=_wide(values))[columns]
        return plain
    sums: Float64Array = np.einsum("bt,bt->t", values[:, columns], weights)
    return sums


def counts_by(
    groups: NDArray[np.integer], group_count: int, weights: Float64Array | None
) -> NDArray[Any]:
    """Publishers of each group of brokers: (group, topic), or (group, 1) if all topics are alike.

    groups: that of each broker, (broker,).
    """
    if weights is None:
        counts: Int64Array = np.bincount(groups, minlength=group_count)[:, None]
        return counts
    sums = np.zeros((group_count, weights.shape[1]), dtype=np.float64)
    np.add.at(sums, groups, weights)
    return sums


def at_topics(values: NDArray[Any], rows: NDArray[Any], topics: NDArray[Any]) -> NDArray[Any]:
    """Entries of a (row, topic) array, or of a (row, 1) one in which all topics are alike."""
    found: NDArray[Any] = values[rows, topics if values.shape[1] > 1 else 0]
    return found


def _wide(values: NDArray[Any]) -> type[np.float64 | np.int64]:
    return np.float64 if values.dtype.kind == "f" else np.int64
