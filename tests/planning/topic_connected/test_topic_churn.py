"""One broker joins or leaves, and the overlay is k-topic-connected again."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_connected_twins import (
    as_tuples,
    connectivity,
    holds,
    random_interests,
    small_interests,
    topic_graph,
)

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array, Interests, interests_from_sets
from meshwright.planning.topic_connected.best import best
from meshwright.planning.topic_connected.churn import join, leave, mend, place
from meshwright.planning.topic_connected.circulants import harary
from meshwright.planning.topic_connected.greedy import gm


def without(interests: Interests, broker: int) -> Interests:
    """The interests with an empty row for one broker."""
    rows = [interests.of(row).tolist() for row in range(interests.row_count)]
    rows[broker] = []
    return interests_from_sets(rows, interests.column_count)


def built(interests: Interests, k: int, sparse: bool) -> Int32Array:
    if not sparse:
        return harary(interests, k=k)
    return gm(interests) if k == 1 else best(interests, k=k)


@given(small_interests(), st.integers(1, 4), st.integers(0, 8), st.booleans())
@settings(max_examples=80, deadline=None)
def test_a_joining_broker_is_k_connected_and_nothing_else_changes(
    interests: Interests, k: int, broker: int, sparse: bool
) -> None:
    broker %= interests.row_count
    links = built(without(interests, broker), k, sparse)
    change = join(links, interests, broker, k)
    assert len(change.removed) == 0
    assert all(broker in link for link in as_tuples(change.added))
    assert as_tuples(change.links) == as_tuples(links) + as_tuples(change.added)
    assert holds(as_tuples(change.links), interests, k)


@given(small_interests(), st.integers(1, 4), st.integers(0, 8), st.booleans())
@settings(max_examples=120, deadline=None)
def test_a_leaving_broker_is_replaced_by_links_among_its_neighbours(
    interests: Interests, k: int, broker: int, sparse: bool
) -> None:
    broker %= interests.row_count
    links = built(interests, k, sparse)
    change = leave(links, without(interests, broker), broker, k)
    neighbours = {end for link in as_tuples(links) if broker in link for end in link} - {broker}
    kept = [link for link in as_tuples(links) if broker not in link]
    assert as_tuples(change.removed) == [link for link in as_tuples(links) if broker in link]
    assert as_tuples(change.links) == kept + as_tuples(change.added)
    assert all(set(link) <= neighbours for link in as_tuples(change.added))
    assert holds(as_tuples(change.links), without(interests, broker), k)


@pytest.mark.parametrize("k", [2, 3])
def test_a_story_of_leaving_and_joining_keeps_k(k: int) -> None:
    interests = random_interests(11)
    links = best(interests, k=k)
    for broker in np.random.default_rng(k).permutation(interests.row_count)[:8].tolist():
        gone = without(interests, broker)
        links = leave(links, gone, broker, k).links
        assert holds(as_tuples(links), gone, k)
        links = join(links, interests, broker, k).links
        assert holds(as_tuples(links), interests, k)


def test_a_broker_that_wants_more_keeps_the_links_it_has() -> None:
    after = random_interests(3)
    rows = [after.of(row).tolist() for row in range(after.row_count)]
    rows[4] = rows[4][:1]
    before = interests_from_sets(rows, after.column_count)
    links = best(before, k=2)
    change = join(links, after, 4, 2)
    assert as_tuples(change.links)[: len(links)] == as_tuples(links)
    assert holds(as_tuples(change.links), after, 2)


def with_everybody(links: Int32Array, broker: int, count: int) -> Int32Array:
    """The links, and those of a broker with all others, as a newcomer has them."""
    more = [(min(one, broker), max(one, broker)) for one in range(count) if one != broker]
    return np.array([*as_tuples(links), *more], dtype=np.int32).reshape(-1, 2)


def held_by_topic(links: list[tuple[int, int]], interests: Interests, k: int) -> list[int]:
    """By networkx: up to k ways that join each topic, and whether all brokers are joined."""
    held = [
        min(k, connectivity(topic_graph(links, interests, topic)))
        for topic in range(interests.column_count)
    ]
    everybody = nx.Graph(links)
    everybody.add_nodes_from(range(interests.row_count))
    return [*held, int(nx.is_connected(everybody))]


@given(small_interests(), st.integers(1, 3), st.integers(0, 8), st.booleans())
@settings(max_examples=80, deadline=None)
def test_a_newcomer_that_was_linked_with_everybody_keeps_what_its_topics_need(
    interests: Interests, k: int, broker: int, sparse: bool
) -> None:
    broker, count = broker % interests.row_count, interests.row_count
    links = built(without(interests, broker), k, sparse)
    begun = with_everybody(links, broker, count)
    change = place(begun, interests, broker, k)
    after = as_tuples(change.links)
    assert len(change.added) == 0
    assert all(broker in link for link in as_tuples(change.removed))
    assert sorted(after + as_tuples(change.removed)) == sorted(as_tuples(begun))
    assert holds(after, interests, k)
    own = sum(broker in link for link in after)
    assert own >= min(k, count - 1)
    others = nx.Graph(as_tuples(links))
    others.add_nodes_from(one for one in range(count) if one != broker)
    if len(others) and nx.is_connected(others):
        assert own <= k * max(1, len(interests.of(broker)))


@given(small_interests(), st.integers(1, 3), st.integers(0, 8), st.data())
@settings(max_examples=80, deadline=None)
def test_placing_a_broker_of_any_overlay_leaves_no_topic_joined_worse(
    interests: Interests, k: int, broker: int, data: st.DataObject
) -> None:
    count = interests.row_count
    pairs = [(one, two) for two in range(count) for one in range(two)]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    links = np.array(chosen, dtype=np.int32).reshape(-1, 2)
    broker %= count
    change = place(links, interests, broker, k)
    after = as_tuples(change.links)
    assert set(after) == set(chosen) - set(as_tuples(change.removed)) | set(as_tuples(change.added))
    assert all(broker in link for link in set(after) ^ set(chosen))
    before = held_by_topic(chosen, interests, k)
    assert all(
        new >= old for new, old in zip(held_by_topic(after, interests, k), before, strict=True)
    )


@given(small_interests(), small_interests(), st.integers(1, 3), st.booleans())
@settings(max_examples=80, deadline=None)
def test_mending_adds_links_that_are_all_needed_for_what_is_wanted_now(
    wanted: Interests, now: Interests, k: int, sparse: bool
) -> None:
    count = min(wanted.row_count, now.row_count)
    rows = [now.of(row).tolist() for row in range(count)]
    after = interests_from_sets(rows, now.column_count)
    before = interests_from_sets(
        [wanted.of(row).tolist() for row in range(count)], wanted.column_count
    )
    links = built(before, k, sparse)
    change = mend(links, after, k)
    found = as_tuples(change.links)
    assert len(change.removed) == 0
    assert found == as_tuples(links) + as_tuples(change.added)
    assert holds(found, after, k)
    for link in as_tuples(change.added):
        assert not holds([one for one in found if one != link], after, k)


def test_impossible_brokers_are_refused() -> None:
    interests = random_interests(0)
    with pytest.raises(CallerError, match="broker 30 is not among the 30"):
        join(gm(interests), interests, 30, 1)
    with pytest.raises(CallerError, match="still wants topics"):
        leave(gm(interests), interests, 1, 1)
