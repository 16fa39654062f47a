"""One broker joins or leaves a k-topic-connected overlay, and the rest of it stays as it is.

[kTCO, 3.3: greedy restricted to the newcomer; a shadow set of the leaver's neighbours]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array, Interests, interests_from_pairs
from meshwright.planning.topic_connected.greedy import bare_scores, no_links, rows_of
from meshwright.planning.topic_connected.kernels.membership import membership_of
from meshwright.planning.topic_connected.kernels.prune import kept_links
from meshwright.planning.topic_connected.kernels.repair import joining_links
from meshwright.planning.topic_connected.kernels.scan import count_shared_topics
from meshwright.planning.topic_connected.measures import degrees
from meshwright.planning.topic_connected.pruning import fewest_topics_first
from meshwright.planning.topic_connected.validation import (
    checked_k,
    failing_topics,
    k_held,
    simple_links,
)


@dataclass(frozen=True, slots=True, eq=False)
class LinkChange:
    """Links added and removed, and all links after it: (link, 2) each, lower broker first."""

    added: Int32Array
    removed: Int32Array
    links: Int32Array


def join(links: Int32Array, interests_after: Interests, broker: int, k: int) -> LinkChange:
    """Links for a broker that is new, or that wants more topics than before.

    A k-connected graph stays so with a new vertex of k neighbours, so it is enough to give the
    broker min(k, members - 1) neighbours in each of its topics: greedily, each time the broker that
    helps in most topics, of equals the one of lowest degree, then the lowest.
    """
    _check_broker(broker, interests_after)
    standing = simple_links(links, interests_after.row_count)
    topics = interests_after.of(broker)
    wants = interests_after.dense()[:, topics]
    missing = np.minimum(checked_k(k), wants.sum(axis=0) - 1)
    linked = standing[(standing == broker).any(axis=1)].ravel()
    free = np.ones(interests_after.row_count, dtype=np.bool_)
    free[linked] = False
    free[broker] = False
    missing -= wants[linked[linked != broker]].sum(axis=0)
    degree_of = degrees(standing, interests_after.row_count)
    added = []
    while (missing > 0).any():
        helped = np.where(free, wants[:, missing > 0].sum(axis=1), 0)
        other = int(np.lexsort((degree_of, -helped))[0])
        added.append((min(broker, other), max(broker, other)))
        free[other] = False
        missing -= wants[other]
    new_links = np.array(added, dtype=np.int32).reshape(-1, 2)
    return LinkChange(new_links, no_links(), np.concatenate([standing, new_links]))


def leave(links: Int32Array, interests_after: Interests, broker: int, k: int) -> LinkChange:
    """Take a broker out and close the gap with links among its former neighbours.

    The broker keeps its row, empty. Wherever a topic falls below k, its smallest cut and the leaver
    were a cut of k, so the leaver had neighbours on both sides: they are a sufficient shadow set.
    Only topics of those neighbours are looked at, and only new links are pruned.
    """
    _check_broker(broker, interests_after)
    if len(interests_after.of(broker)) > 0:
        raise CallerError(f"broker {broker} still wants topics: empty its row before it leaves")
    before = simple_links(links, interests_after.row_count)
    lost = (before == broker).any(axis=1)
    standing, removed = before[~lost], before[lost]
    shadow = np.unique(removed[removed != broker])
    members = membership_of(interests_after)
    shadow_wants = rows_of(interests_after, shadow)
    # Pairs outside the shadow score nothing and are taken only if the overlay was broken before.
    scores = bare_scores(interests_after)
    wants = shadow_wants.dense().astype(np.float32)
    scores[np.ix_(shadow, shadow)] = wants @ wants.T
    topics = np.unique(shadow_wants.columns).astype(np.int64)
    added = joining_links(members, standing, scores, topics, checked_k(k))
    after = np.concatenate([standing, added])
    order = fewest_topics_first(members, after)
    kept = kept_links(members, after, order[order >= len(standing)], k)
    return LinkChange(after[len(standing) :][kept[len(standing) :]], removed, after[kept])


def place(links: Int32Array, interests: Interests, broker: int, k: int) -> LinkChange:
    """Other links for a broker that was linked with more than it needs: those of `join`.

    It has min(k, others) at least, so that what is published at it finds its way. Where topics, or
    all brokers, were held together by its former links alone, so many of these stay that none is
    joined worse than before.
    """
    _check_broker(broker, interests)
    before = simple_links(links, interests.row_count)
    is_own = (before == broker).any(axis=1)
    everybody = _everybody(interests.row_count)
    wide = _beside(interests, everybody)
    new = join(before[~is_own], wide, broker, k).added
    former = _without(before[is_own], new)
    wants = wide.dense()
    held = _held(before, interests, everybody, k)
    while True:
        after = np.concatenate([before[~is_own], new])
        worse = np.flatnonzero(_held(after, interests, everybody, k) < held)
        if not len(worse):
            break
        ends = former.sum(axis=1) - broker
        first = int(np.argmax(wants[np.ix_(ends, worse)].sum(axis=1)))
        new = np.concatenate([new, former[first : first + 1]])
        former = np.delete(former, first, axis=0)
    return LinkChange(_without(new, before), former, after)


def mend(links: Int32Array, interests: Interests, k: int) -> LinkChange:
    """Further links for topics that are joined by fewer than k ways; no link goes."""
    standing = simple_links(links, interests.row_count)
    members = membership_of(interests)
    scores = bare_scores(interests)
    count_shared_topics(members, scores, 1)
    topics = failing_topics(standing, interests, k).astype(np.int64)
    added = joining_links(members, standing, scores, topics, checked_k(k))
    after = np.concatenate([standing, added])
    order = fewest_topics_first(members, after)
    kept = kept_links(members, after, order[order >= len(standing)], k)
    return LinkChange(after[len(standing) :][kept[len(standing) :]], no_links(), after[kept])


def _everybody(broker_count: int) -> Interests:
    """One topic that all brokers want."""
    rows = np.arange(broker_count, dtype=np.int64)
    return interests_from_pairs(rows, np.zeros_like(rows), broker_count, 1)


def _beside(interests: Interests, more: Interests) -> Interests:
    """Interests with more topics."""
    count = interests.column_count
    rows = np.concatenate([interests.row_of_pairs(), more.row_of_pairs()])
    columns = np.concatenate([interests.columns, more.columns + count])
    return interests_from_pairs(rows, columns, interests.row_count, count + more.column_count)


def _held(links: Int32Array, interests: Interests, everybody: Interests, k: int) -> Int32Array:
    """By how many ways each topic is joined, up to k, and at last whether all brokers are."""
    return np.concatenate([k_held(links, interests, k), k_held(links, everybody, 1)])


def _without(links: Int32Array, others: Int32Array) -> Int32Array:
    """Links that are not among others; both simple."""
    known = set(map(tuple, others.tolist()))
    return links[[tuple(link) not in known for link in links.tolist()]].reshape(-1, 2)


def _check_broker(broker: int, interests: Interests) -> None:
    if not 0 <= broker < interests.row_count:
        raise CallerError(f"broker {broker} is not among the {interests.row_count} given")
