"""GM, GM2, MinMax-ODA and DCB-M against the step-by-step algorithms of the papers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_connected_twins import (
    as_tuples,
    filled_deficits,
    holds,
    joined_blocks,
    joined_components,
    random_interests,
    small_interests,
    step_by_step,
)

from meshwright.errors import CallerError
from meshwright.model.interests import Interests, interests_from_sets
from meshwright.planning.topic_connected.greedy import bare_scores, dcbm, gm, gm2, minmax
from meshwright.planning.topic_connected.kernels.deficits import END_COUNT, fill_deficits
from meshwright.planning.topic_connected.kernels.membership import membership_of
from meshwright.planning.topic_connected.kernels.scan import LOWEST_DEGREE_SUM, LOWEST_PAIR

TIES = st.sampled_from(["pair", "degree"])


@given(small_interests(), TIES)
@settings(max_examples=40, deadline=None)
def test_gm_adds_the_links_of_the_paper_in_its_order(interests: Interests, tie: str) -> None:
    expected = step_by_step(interests.row_count, joined_components(interests), tie)
    links = as_tuples(gm(interests, tie=tie))
    assert links == expected
    assert holds(links, interests, 1)


@given(small_interests(), TIES)
@settings(max_examples=60, deadline=None)
def test_gm2_adds_the_links_of_the_paper_in_its_order(interests: Interests, tie: str) -> None:
    expected = step_by_step(interests.row_count, joined_blocks(interests), tie)
    links = as_tuples(gm2(interests, tie=tie))
    assert links == expected
    assert holds(links, interests, 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tie", ["pair", "degree"])
def test_gm2_keeps_its_forests_right_on_larger_topics(seed: int, tie: str) -> None:
    interests = random_interests(seed, broker_count=18, topic_count=4, share=0.6)
    expected = step_by_step(interests.row_count, joined_blocks(interests), tie)
    assert as_tuples(gm2(interests, tie=tie)) == expected


@given(small_interests())
@settings(max_examples=40, deadline=None)
def test_minmax_raises_the_highest_degree_least(interests: Interests) -> None:
    expected = step_by_step(interests.row_count, joined_components(interests), "maximum")
    assert as_tuples(minmax(interests)) == expected


@given(small_interests(), st.integers(1, 4), st.sampled_from(["pair", "degree"]))
@settings(max_examples=40, deadline=None)
def test_deficits_are_filled_as_by_the_dull_greedy(interests: Interests, k: int, tie: str) -> None:
    expected = step_by_step(interests.row_count, filled_deficits(interests, k), tie)
    number = {"pair": LOWEST_PAIR, "degree": LOWEST_DEGREE_SUM}[tie]
    links = fill_deficits(membership_of(interests), bare_scores(interests, END_COUNT), k, number)
    assert as_tuples(links) == expected


@given(small_interests(), st.integers(1, 4), st.integers(0, 9), st.sampled_from([None, 2.0]))
@settings(max_examples=40, deadline=None)
def test_dcbm_connects_every_topic(
    interests: Interests, part_count: int, seed: int, bulk: float | None
) -> None:
    rng = np.random.default_rng(seed)
    links = as_tuples(dcbm(interests, rng=rng, part_count=part_count, bulk_topic_count=bulk))
    assert len(set(links)) == len(links)
    assert all(left < right for left, right in links)
    assert holds(links, interests, 1)


def test_dcbm_in_one_part_is_minmax() -> None:
    interests = random_interests(5)
    links = dcbm(
        interests, rng=np.random.default_rng(0), part_count=1, bulk_topic_count=float("inf")
    )
    assert as_tuples(links) == as_tuples(minmax(interests))


def test_many_shared_topics_do_not_overflow_the_scores() -> None:
    interests = interests_from_sets([range(300)] * 3, 300)
    assert bare_scores(interests).dtype == np.int16
    assert as_tuples(gm2(interests)) == [(0, 1), (0, 2), (1, 2)]


def test_an_unknown_tie_is_refused() -> None:
    with pytest.raises(CallerError, match="tie is 'chance'"):
        gm(random_interests(0), tie="chance")


def test_dcbm_refuses_no_parts() -> None:
    with pytest.raises(CallerError, match="part_count is 0"):
        dcbm(random_interests(0), rng=np.random.default_rng(0), part_count=0)


@pytest.mark.parametrize(
    ("topic_count", "weight", "expected"),
    [(6, 1, np.int16), (32_767, 1, np.int16), (16_384, 2, np.int32), (40_000, 1, np.int32)],
)
def test_scores_have_one_of_two_types_that_holds_them(
    topic_count: int, weight: int, expected: type[np.signedinteger]
) -> None:
    interests = interests_from_sets([range(topic_count), [0]], topic_count)
    assert bare_scores(interests, weight).dtype == expected
