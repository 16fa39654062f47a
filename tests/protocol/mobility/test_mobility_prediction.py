"""Laws of the predictor, and the cost rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.protocol.mobility.prediction import (
    extended,
    is_worth_it,
    likely_set,
    next_probabilities,
)

ROUTES = st.lists(st.sampled_from("abcde"), max_size=30).map(
    lambda names: [one for one, before in zip(names, ["", *names], strict=False) if one != before]
)


@given(ROUTES)
def test_probabilities_add_up_to_one_and_never_name_where_the_client_is(route: list[str]) -> None:
    probabilities = next_probabilities(route)
    if len(set(route)) > 1:
        assert sum(probabilities.values()) == pytest.approx(1)
        assert route[-1] not in probabilities
    else:
        assert probabilities == {}


@given(ROUTES, st.floats(0.01, 1))
def test_the_likely_set_is_the_smallest_that_is_likely_enough(
    route: list[str], least: float
) -> None:
    probabilities = next_probabilities(route)
    chosen = likely_set(probabilities, least)
    reached = sum(probabilities[name] for name in chosen)
    assert reached >= min(least, sum(probabilities.values())) - 1e-9
    if chosen:
        assert reached - min(probabilities[name] for name in chosen) < least
        left_out = [p for name, p in probabilities.items() if name not in chosen]
        assert max(left_out, default=0) <= min(probabilities[name] for name in chosen)


def test_two_brokers_in_a_row_decide_before_one_does() -> None:
    # After b comes c most often, but never when b was reached from d.
    assert next_probabilities(["a", "b", "c", "a", "b", "c", "d", "b", "a", "d", "b"]) == {"a": 1}


def test_an_unknown_pair_falls_back_to_the_last_broker_and_that_to_all_visits() -> None:
    assert next_probabilities(["b", "c", "d", "b"]) == {"c": 1}
    assert next_probabilities(["a", "b", "a", "c"]) == pytest.approx({"a": 2 / 3, "b": 1 / 3})


@given(ROUTES, st.integers(1, 8))
def test_a_history_is_bounded_and_has_no_broker_twice_in_a_row(route: list[str], most: int) -> None:
    visits: tuple[str, ...] = ()
    for name in route:
        visits = extended(extended(visits, name, most), name, most)
    assert visits == tuple(route[-most:])


def test_a_wrong_guess_must_cost_less_than_a_right_one_saves() -> None:
    assert is_worth_it(0.5, events_saved=11, subscriptions=5, events_in_transfer=5)
    assert not is_worth_it(0.5, events_saved=10, subscriptions=5, events_in_transfer=5)
    assert is_worth_it(
        0.5, events_saved=10, subscriptions=5, events_in_transfer=5, distance_wrong=0.5
    )
