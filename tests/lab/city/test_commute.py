"""The commute in small: everybody gets everything, and policies differ as they should."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from meshwright.filters.filter import matches, parse_filter
from meshwright.lab.city.commute import MINUTE_US, CommuteParameters, central, commute, draw_trips
from meshwright.lab.city.commuters import CATALOGUE, TOPICS
from meshwright.lab.city.unicast import Tally


def test_the_catalogue_says_what_its_filters_take() -> None:
    for text, kinds in CATALOGUE.items():
        wanted = parse_filter(text)
        assert [n for n, topic in enumerate(TOPICS) if matches(wanted, topic)] == list(kinds)
    assert len(CATALOGUE) == 40


def test_trips_are_those_of_the_paper() -> None:
    trips = draw_trips(2_000, np.random.default_rng(0))
    near = [trip for trip in trips if trip.end in central(30)]
    assert len(near) / len(trips) == pytest.approx(0.4, abs=0.05)
    assert all(trip.start in central(20) for trip in trips)
    assert all(15 <= trip.away_us / MINUTE_US <= 45 for trip in near)
    assert {len(central(10)), len(central(20)), len(central(30))} == {10, 20, 30}


def test_hops_are_those_of_the_tree() -> None:
    tally = Tally(tuple(f"b{n:02d}" for n in range(85)), 4, 0, 1)
    assert tally.hops("b21", "b22") == 2
    assert tally.hops("b21", "b84") == 6
    assert tally.hops("b00", "b84") == 3
    assert tally.hops("b30", "b30") == 0


@pytest.mark.parametrize("policy", ["standard", "prefetching", "logging", "home"])
def test_everybody_who_came_home_got_everything(policy: str) -> None:
    result = commute(
        CommuteParameters(policy=policy, subscribers=12, publishers=16, duration_s=3 * 3600 + 1900)
    )
    assert result.delivered == result.owed > 0
    total = sum(result.windows, Counter())
    assert bool(total["stored"]) == (policy in {"standard", "logging"})
    assert bool(total["home"]) == (policy == "home")
