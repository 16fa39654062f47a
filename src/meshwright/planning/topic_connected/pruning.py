"""Dropping links that no topic needs."""

from __future__ import annotations

import numpy as np

from meshwright.model.interests import BoolArray, Int32Array, Interests
from meshwright.planning.topic_connected.kernels.membership import (
    Membership,
    count_link_topics,
    membership_of,
)
from meshwright.planning.topic_connected.kernels.prune import kept_links
from meshwright.planning.topic_connected.validation import checked_k, simple_links


def pruned(links: Int32Array, interests: Interests, k: int) -> Int32Array:
    """The links left when each is dropped that every k-connected topic can spare.

    Links of fewest shared topics are tried first, of equals the one added last. A link that two
    brokers without a common topic share is always dropped. What is left cannot spare another link.
    """
    members = membership_of(interests)
    simple = simple_links(links, interests.row_count)
    order = fewest_topics_first(members, simple)
    kept: BoolArray = kept_links(members, simple, order, checked_k(k))
    return simple[kept]


def fewest_topics_first(members: Membership, links: Int32Array) -> Int32Array:
    """The numbers of the links by shared topics ascending, of equals the last first."""
    shared: Int32Array = count_link_topics(members, links)
    backwards = np.argsort(shared[::-1], kind="stable")
    return (len(links) - 1 - backwards).astype(np.int32)
