"""Who is where and when in the city: journeys as in the paper, and hops as on its tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from meshwright.filters.filter import matches, parse_filter
from meshwright.lab.city.journeys import MINUTE_US, SCENARIOS, Travel, commute, pervasive
from meshwright.lab.city.streets import (
    BROKERS,
    CITY_KM,
    LEAVES,
    central,
    city_overlay,
    leaf_at,
    reflected,
)
from meshwright.lab.city.travellers import CATALOGUE, TOPICS
from meshwright.lab.city.unicast import Tally
from meshwright.protocol.forwarding.acyclic.living_tree import living_root

HOURS = 8
TRAVEL = Travel(duration_us=HOURS * 60 * MINUTE_US)


def test_the_catalogue_says_what_its_filters_take() -> None:
    for text, kinds in CATALOGUE.items():
        wanted = parse_filter(text)
        assert [n for n, topic in enumerate(TOPICS) if matches(wanted, topic)] == list(kinds)
    assert len(CATALOGUE) == 40


def test_commuters_go_home_as_in_the_paper() -> None:
    rng = np.random.default_rng(0)
    journeys = [commute(rng, TRAVEL) for _ in range(2_000)]
    near = [one for one in journeys if one.moves[0].leaf in central(30)]
    assert len(near) / len(journeys) == pytest.approx(0.4, abs=0.05)
    assert all(one.start in central(20) for one in journeys)
    for one in near:
        (move,) = one.moves
        assert 15 <= (move.arrives_us - move.leaves_us) / MINUTE_US <= 45
    assert {len(central(10)), len(central(20)), len(central(30))} == {10, 20, 30}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nobody_leaves_before_it_came_nor_the_city(scenario: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        journey = SCENARIOS[scenario](rng, TRAVEL)
        times_us = [time for move in journey.moves for time in (move.leaves_us, move.arrives_us)]
        assert times_us == sorted(times_us)
        assert times_us[-1] < TRAVEL.duration_us
        assert all(0 <= move.leaf < len(LEAVES) for move in journey.moves)


def test_who_travels_is_as_far_as_its_speed_and_its_time_let_it_be() -> None:
    travel = Travel(duration_us=TRAVEL.duration_us, speeds_km_h=(5.0,))
    journey = SCENARIOS["random"](np.random.default_rng(2), travel)
    places = [journey.start, *(move.leaf for move in journey.moves)]
    for (one, other), move in zip(pairwise(places), journey.moves, strict=True):
        hours = (move.arrives_us - move.leaves_us) / (60 * MINUTE_US)
        assert 10 <= hours * 60 <= 30
        assert abs(one - other) <= hours * 5.0 / 0.5 + 1


def test_hand_offs_lead_to_the_next_leaf_and_take_the_gap() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        journey = pervasive(rng, Travel(duration_us=TRAVEL.duration_us, gap_s=8.0))
        places = [journey.start, *(move.leaf for move in journey.moves)]
        assert all(abs(one - other) == 1 for one, other in pairwise(places))
        assert {move.arrives_us - move.leaves_us for move in journey.moves} == {8_000_000}


def test_hand_offs_end_where_the_same_way_without_them_does() -> None:
    for seed in range(20):
        ends = [
            SCENARIOS[name](np.random.default_rng(seed), TRAVEL).moves[-1].leaf
            for name in ("random", "pervasive")
        ]
        # A border that is crossed at the very end may not count.
        assert abs(ends[0] - ends[1]) <= 1


def test_people_with_habits_go_to_and_fro() -> None:
    travel = Travel(duration_us=TRAVEL.duration_us, habit=1.0)
    journey = SCENARIOS["habits"](np.random.default_rng(4), travel)
    assert len({journey.start, *(move.leaf for move in journey.moves)}) == 2


def test_who_walks_on_turns_back_at_each_end_of_the_city() -> None:
    for way_km, place_km in ((1.0, 1.0), (-1.0, 1.0), (CITY_KM + 1, CITY_KM - 1), (65.0, 1.0)):
        assert reflected(way_km) == pytest.approx(place_km)
    assert (leaf_at(0.0), leaf_at(0.5), leaf_at(CITY_KM)) == (0, 1, 63)


def test_hops_are_those_of_the_tree() -> None:
    tally = Tally(BROKERS, 4, 0, 1)
    assert tally.hops("b21", "b22") == 2
    assert tally.hops("b21", "b84") == 6
    assert tally.hops("b00", "b84") == 3
    assert tally.hops("b30", "b30") == 0


def test_the_papers_city_has_its_root_at_the_top_and_ours_has_none() -> None:
    everybody = frozenset(BROKERS)
    assert living_root(city_overlay("hierarchy"), everybody) == "b00"
    assert living_root(city_overlay("tree"), everybody) is None
