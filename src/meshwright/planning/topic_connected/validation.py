"""Does an overlay hold what it promises: exact vertex connectivity of every topic's sub-overlay."""

from __future__ import annotations

import numpy as np

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import Int32Array, Interests
from meshwright.model.wording import counted
from meshwright.planning.topic_connected.kernels.cuts import topic_connectivities
from meshwright.planning.topic_connected.kernels.membership import membership_of


def k_held(links: Int32Array, interests: Interests, k: int) -> Int32Array:
    """Vertex connectivity of each topic's sub-overlay, at most k or one less than its members.

    (topic,). A topic holds k where this equals min(k, members - 1): at most k members then form a
    clique. Links that repeat or join a broker to itself count for nothing.
    """
    held: Int32Array = topic_connectivities(
        membership_of(interests), simple_links(links, interests.row_count), checked_k(k)
    )
    return held


def failing_topics(links: Int32Array, interests: Interests, k: int) -> Int32Array:
    """Topics whose members are not k-connected among themselves, ascending."""
    wanted = np.minimum(k, np.maximum(interests.transposed().counts() - 1, 0))
    return np.flatnonzero(k_held(links, interests, k) < wanted).astype(np.int32)


def is_topic_connected(links: Int32Array, interests: Interests, k: int = 1) -> bool:
    """Whether every topic is k-connected, or a clique if it has at most k members."""
    return len(failing_topics(links, interests, k)) == 0


def checked_k(k: int) -> int:
    """The same k, if it can be asked for."""
    if k < 1:
        raise CallerError(f"k is {k}: a topic can be asked to be 1-connected or more")
    return k


def refuse_large_k(k: int, broker_count: int) -> None:
    """Refuse a k that no topic could need, even if every broker wanted it."""
    if k > max(broker_count, 1):
        raise ProblemError(
            f"k = {k} is larger than the network of {counted(broker_count, 'broker')}; "
            "choose a smaller k."
        )


def simple_links(links: Int32Array, broker_count: int) -> Int32Array:
    """The links as a simple graph: lower broker first, loops and repeats left out, order kept."""
    pairs = np.sort(np.asarray(links, dtype=np.int32).reshape(-1, 2), axis=1)
    if len(pairs) and not (pairs[:, 0].min() >= 0 and pairs[:, 1].max() < broker_count):
        raise CallerError(f"a link names a broker that is not among the {broker_count} given")
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    keys = pairs[:, 0].astype(np.int64) * broker_count + pairs[:, 1]
    _, firsts = np.unique(keys, return_index=True)
    return np.ascontiguousarray(pairs[np.sort(firsts)])
