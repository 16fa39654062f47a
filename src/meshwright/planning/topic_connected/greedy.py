"""Builders that add one link at a time, the one that joins most: GM, GM2, MinMax-ODA, DCB-M.

Each is exact: the same links in the same order as the step-by-step algorithm.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array, Interests, interests_from_pairs
from meshwright.planning.topic_connected.kernels.blocks import biconnect_topics
from meshwright.planning.topic_connected.kernels.components import connect_topics
from meshwright.planning.topic_connected.kernels.membership import membership_of
from meshwright.planning.topic_connected.kernels.scan import (
    LOWEST_DEGREE_SUM,
    LOWEST_MAXIMUM_DEGREE,
    LOWEST_PAIR,
)

Tie = Literal["pair", "degree"]
TIES: dict[str, int] = {"pair": LOWEST_PAIR, "degree": LOWEST_DEGREE_SUM}

# A byte would do for small networks, but kernels would be compiled for it once more.
SCORE_TYPES = (np.int16, np.int32)
PART_COUNT = 5
BULK_FACTOR = 2.0


def gm(interests: Interests, *, tie: Tie = "pair") -> Int32Array:
    """Links of a topic-connected overlay; each joins the most components of topics [kTCO, GM].

    Ties go to the lowest pair, or with "degree" to the lowest degree sum and then the lowest pair.
    """
    return _connected(interests, no_links(), tie_number(tie))


def gm2(interests: Interests, *, tie: Tie = "pair") -> Int32Array:
    """Links of a 2-topic-connected overlay; each joins two blocks in most topics [kTCO, GM2].

    Ties as in `gm`. Memory: two bytes for each ordered pair of brokers.
    """
    return biconnect_topics(membership_of(interests), bare_scores(interests), tie_number(tie))


def minmax(interests: Interests, *, standing: Int32Array | None = None) -> Int32Array:
    """Links of a topic-connected overlay of low maximum degree [MinMax-ODA, Onus and Richa].

    Among the pairs that raise the maximum degree least, each link joins the most components; ties
    go to the lowest pair. Links already standing are built upon, and not returned.
    """
    return _connected(
        interests, no_links() if standing is None else standing, LOWEST_MAXIMUM_DEGREE
    )


def dcbm(
    interests: Interests,
    *,
    rng: np.random.Generator,
    part_count: int = PART_COUNT,
    bulk_topic_count: float | None = None,
) -> Int32Array:
    """Links by divide and conquer: `minmax` in random parts, then over all [DYNATOPS, DCB-M].

    Brokers of more than bulk_topic_count topics (by default twice the mean) belong to no part and
    join when the parts are combined.
    """
    if part_count < 1:
        raise CallerError(f"part_count is {part_count}: divide the brokers into at least one part")
    counts = interests.counts()
    if bulk_topic_count is None:
        bulk_topic_count = bulk_threshold(counts)
    light = np.flatnonzero(counts <= bulk_topic_count)
    parts = np.array_split(rng.permutation(light), part_count)
    inside = [np.sort(part)[minmax(rows_of(interests, np.sort(part)))] for part in parts]
    standing = np.concatenate([no_links(), *inside]).astype(np.int32)
    return np.concatenate([standing, minmax(interests, standing=standing)])


def bulk_threshold(counts: NDArray[np.integer]) -> float:
    """The number of topics above which a broker is a bulk node, if nobody says another."""
    return BULK_FACTOR * float(counts.mean()) if len(counts) else 0.0


def no_links() -> Int32Array:
    """An empty list of links: (0, 2)."""
    return np.empty((0, 2), dtype=np.int32)


def tie_number(tie: str) -> int:
    """What kernels call a tie rule."""
    if tie not in TIES:
        raise CallerError(f"tie is {tie!r}: choose one of {', '.join(TIES)}")
    return TIES[tie]


def bare_scores(interests: Interests, weight: int = 1) -> NDArray[Any]:
    """Zero scores, (broker, broker), of the smallest type for any shared topics times a weight."""
    most = weight * int(interests.counts().max(initial=0))
    dtype = next(kind for kind in SCORE_TYPES if most <= np.iinfo(kind).max)
    return np.zeros((interests.row_count, interests.row_count), dtype=dtype)


def rows_of(interests: Interests, rows: NDArray[np.integer]) -> Interests:
    """The interests of some brokers, renumbered in the given order."""
    numbers = np.full(interests.row_count, -1, dtype=np.int64)
    numbers[rows] = np.arange(len(rows))
    row_of_pairs = numbers[interests.row_of_pairs()]
    chosen = row_of_pairs >= 0
    return interests_from_pairs(
        row_of_pairs[chosen], interests.columns[chosen], len(rows), interests.column_count
    )


def _connected(interests: Interests, standing: Int32Array, tie: int) -> Int32Array:
    links: Int32Array = connect_topics(
        membership_of(interests), bare_scores(interests), np.array(standing, dtype=np.int32), tie
    )
    return links
