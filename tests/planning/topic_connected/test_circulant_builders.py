"""HararyPT and CyclePT against their formulas, and the orders against dull twins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_connected_twins import (
    Link,
    as_tuples,
    holds,
    members_of,
    random_interests,
    shared_by,
    small_interests,
    topic_graph,
)

from meshwright.errors import CallerError
from meshwright.model.interests import Interests, interests_from_sets
from meshwright.planning.topic_connected.circulants import broker_order, cycle, harary
from meshwright.planning.topic_connected.kernels.membership import membership_of

ORDERS = st.sampled_from(["input", "random", "similarity", "fewest_edges"])


def harary_links(ring: list[int], k: int) -> set[Link]:
    """H(k, n) on a ring, as the textbook has it."""
    n = len(ring)
    if n <= k:
        places = set(combinations(range(n), 2))
    elif k == 1:
        places = {(i, i + 1) for i in range(n - 1)}
    else:
        places = {(i, (i + d) % n) for i in range(n) for d in range(1, k // 2 + 1)}
        if k % 2 == 1 and n % 2 == 0:
            places |= {(i, i + n // 2) for i in range(n // 2)}
        elif k % 2 == 1:
            places |= {(i, (i + (n - 1) // 2) % n) for i in range((n - 1) // 2 + 1)}
    return {(min(ring[i], ring[j]), max(ring[i], ring[j])) for i, j in places}


@given(small_interests(), st.integers(1, 7), ORDERS)
@settings(max_examples=80, deadline=None)
def test_harary_unites_the_textbook_graphs(interests: Interests, k: int, order: str) -> None:
    links = as_tuples(harary(interests, k=k, order=order, rng=np.random.default_rng(3)))
    ranks = broker_order(membership_of(interests), order, k, np.random.default_rng(3)).tolist()
    expected: set[Link] = set()
    for topic in range(interests.column_count):
        wanting = set(members_of(interests, topic))
        expected |= harary_links([broker for broker in ranks if broker in wanting], k)
    assert len(links) == len(set(links))
    assert set(links) == expected
    assert sorted(ranks) == list(range(interests.row_count))
    assert holds(links, interests, k)


@given(small_interests(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_cycle_draws_a_cycle_through_every_topic(interests: Interests, seed: int) -> None:
    links = as_tuples(cycle(interests, rng=np.random.default_rng(seed)))
    assert len(links) == len(set(links))
    assert all(left < right for left, right in links)
    assert holds(links, interests, 2)


def test_cycle_draws_a_fresh_cycle_for_each_topic() -> None:
    interests = interests_from_sets([[0, 1]] * 40, 2)
    links = as_tuples(cycle(interests, rng=np.random.default_rng(0)))
    assert 70 < len(links) <= 80
    assert topic_graph(links, interests, 0).number_of_edges() == len(links)


@given(small_interests(), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_fewest_edges_order_appends_who_adds_fewest_links(interests: Interests, reach: int) -> None:
    order: list[int] = []
    for _ in range(interests.row_count):
        order.append(
            min(
                (broker for broker in range(interests.row_count) if broker not in order),
                key=lambda broker: (len(last_linked(interests, order, broker, reach)), broker),
            )
        )
    fast = broker_order(membership_of(interests), "fewest_edges", 2 * reach, None)
    assert fast.tolist() == order


def last_linked(interests: Interests, order: list[int], broker: int, reach: int) -> set[int]:
    linked: set[int] = set()
    for topic in interests.of(broker).tolist():
        linked.update([other for other in order if topic in interests.of(other)][-reach:])
    return linked


@given(small_interests())
@settings(max_examples=40, deadline=None)
def test_similarity_order_goes_to_who_shares_most(interests: Interests) -> None:
    order = [0]
    while len(order) < interests.row_count:
        rest = [broker for broker in range(interests.row_count) if broker not in order]
        order.append(min(rest, key=lambda b: (-len(shared_by(interests, order[-1], b)), b)))
    assert broker_order(membership_of(interests), "similarity", 2, None).tolist() == order


def test_fewest_edges_order_saves_links() -> None:
    interests = random_interests(1, broker_count=60, topic_count=20, share=0.3)
    plain = harary(interests, k=4)
    assert len(harary(interests, k=4, order="fewest_edges")) < len(plain)


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(CallerError, match="k is 0"):
        harary(random_interests(0), k=0)
    with pytest.raises(CallerError, match="random order needs rng"):
        harary(random_interests(0), k=2, order="random")
    with pytest.raises(CallerError, match="order is 'name'"):
        harary(random_interests(0), k=2, order="name")
