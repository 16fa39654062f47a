"""Our own builder: never more links than the papers', always k-topic-connected."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_connected_twins import as_tuples, holds, random_interests, small_interests

from meshwright.errors import ProblemError
from meshwright.model.interests import Interests
from meshwright.planning.topic_connected.best import best, best_links
from meshwright.planning.topic_connected.circulants import harary
from meshwright.planning.topic_connected.greedy import gm2
from meshwright.planning.topic_connected.pruning import pruned


@given(small_interests(), st.integers(2, 6))
@settings(max_examples=80, deadline=None)
def test_best_holds_k_with_no_more_links_than_the_papers(interests: Interests, k: int) -> None:
    found = best_links(interests, k=k)
    links = as_tuples(found.links)
    assert all(left < right for left, right in links)
    assert len(links) == len(set(links))
    assert holds(links, interests, k)
    if k == 2:
        rivals = [gm2(interests), gm2(interests, tie="degree")]
    else:
        rivals = [harary(interests, k=k, order=order) for order in ("input", "fewest_edges")]
    assert all(len(links) <= len(rival) for rival in rivals)
    assert as_tuples(pruned(found.links, interests, k)) == links


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_best_needs_clearly_fewer_links_on_larger_networks(k: int) -> None:
    interests = random_interests(k, broker_count=80, topic_count=20, share=0.25)
    rival = gm2(interests) if k == 2 else harary(interests, k=k)
    found = best_links(interests, k=k)
    assert found.origin == "deficits"
    assert holds(as_tuples(found.links), interests, k)
    assert len(found.links) < 0.95 * len(rival)


def test_best_is_the_same_each_time() -> None:
    interests = random_interests(7)
    assert as_tuples(best(interests, k=3)) == as_tuples(best(interests, k=3))


def test_best_refuses_k_of_one() -> None:
    with pytest.raises(ProblemError, match="at least 2, not 1"):
        best(random_interests(0), k=1)
