"""Our own builder for any k >= 2: fill degree deficits, join small cuts, prune.

The price of its few links is longer paths inside topics: read diameters beside degrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.topic_connected.circulants import harary
from meshwright.planning.topic_connected.greedy import TIES, bare_scores, gm2
from meshwright.planning.topic_connected.kernels.deficits import END_COUNT, fill_deficits
from meshwright.planning.topic_connected.kernels.membership import Membership, membership_of
from meshwright.planning.topic_connected.kernels.repair import joining_links
from meshwright.planning.topic_connected.kernels.scan import count_shared_topics
from meshwright.planning.topic_connected.pruning import pruned

Origin = Literal["deficits", "gm2", "harary"]


@dataclass(frozen=True, slots=True, eq=False)
class BestLinks:
    """Links, and which way of building them came out with fewest."""

    links: Int32Array
    origin: Origin


def best(interests: Interests, *, k: int) -> Int32Array:
    """Links of a k-topic-connected overlay, never more than `gm2` has (k = 2) or `harary` (k > 2).

    Compared with gm2 under both tie rules, and with harary in input and fewest_edges order.
    """
    return best_links(interests, k=k).links


def best_links(interests: Interests, *, k: int) -> BestLinks:
    """As `best`, with its origin: should deficits need more links, the pruned rival is taken."""
    if k < 2:
        raise ProblemError(f"The design best needs k of at least 2, not {k}; for k = 1 choose gm.")
    members = membership_of(interests)
    candidates = [_by_deficits(interests, members, k, tie) for tie in TIES.values()]
    links = min(candidates, key=len)
    origin: Origin = "gm2" if k == 2 else "harary"
    rival = min(_rivals(interests, k), key=len)
    if len(links) <= len(rival):
        return BestLinks(links, "deficits")
    return BestLinks(pruned(rival, interests, k), origin)


def _rivals(interests: Interests, k: int) -> list[Int32Array]:
    if k == 2:
        return [gm2(interests, tie="pair"), gm2(interests, tie="degree")]
    return [harary(interests, k=k, order="input"), harary(interests, k=k, order="fewest_edges")]


def _by_deficits(interests: Interests, members: Membership, k: int, tie: int) -> Int32Array:
    """Greedy on degree deficits, then exact repair, then pruning."""
    filled = fill_deficits(members, bare_scores(interests, END_COUNT), k, tie)
    shared = bare_scores(interests)
    count_shared_topics(members, shared, 1)
    all_topics = np.arange(interests.column_count, dtype=np.int64)
    added = joining_links(members, filled, shared, all_topics, k)
    return pruned(np.concatenate([filled, added]), interests, k)
