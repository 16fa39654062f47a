"""Runs in the city in small: everybody gets everything, and policies differ as they should."""

from __future__ import annotations

from collections import Counter

import pytest

from meshwright.lab.city.analysis import measured, predicted
from meshwright.lab.city.counts import CityCounts
from meshwright.lab.city.running import CityParameters, run_city

SMALL = {"subscribers": 12, "publishers": 10}
EVENING_S = 3 * 3600 + 1900


@pytest.mark.parametrize("policy", ["standard", "prefetching", "logging", "home"])
def test_everybody_who_came_home_got_everything_as_the_model_says(policy: str) -> None:
    parameters = CityParameters(policy=policy, duration_s=EVENING_S, **SMALL)
    result = run_city(parameters)
    assert result.delivered == result.owed > 0
    total = result.total
    assert bool(total["stored"]) == (policy in {"standard", "logging"})
    assert bool(total["home"]) == (policy == "home")
    model, ours = predicted(parameters), measured(result)
    assert ours.subscription_messages == pytest.approx(model.subscription_messages, abs=2)
    if policy != "logging":
        assert ours.event_messages == pytest.approx(model.event_messages, rel=0.03, abs=2)


@pytest.mark.parametrize(
    ("scenario", "policy"),
    [("random", "logging"), ("pervasive", "prefetching"), ("habits", "watching+device")],
)
def test_everybody_on_the_way_gets_everything(scenario: str, policy: str) -> None:
    result = run_city(
        CityParameters(
            scenario=scenario, policy=policy, subscribers=6, publishers=10, duration_s=3600
        )
    )
    assert result.delivered == result.owed > 0
    assert bool(result.total["filters moved"]) == (policy != "watching+device")


@pytest.mark.parametrize("design", ["tree", "hierarchy"])
@pytest.mark.parametrize(("covering", "advertisements"), [(False, False), (True, True)])
def test_filters_may_spread_in_any_way(design: str, covering: bool, advertisements: bool) -> None:
    result = run_city(
        CityParameters(
            scenario="random", design=design, covering=covering, advertisements=advertisements,
            subscribers=6, publishers=6, duration_s=2400,
        )
    )  # fmt: skip
    assert result.delivered == result.owed > 0


def test_events_climb_to_the_root_in_the_papers_city_only() -> None:
    climbing, following = (
        run_city(CityParameters(scenario="random", design=design, duration_s=1800, **SMALL)).total
        for design in ("hierarchy", "tree")
    )
    assert climbing["publication"] > following["publication"]
    assert climbing["live"] == following["live"]


def test_brokers_that_must_guess_foresee_less_than_those_that_know() -> None:
    knowing, guessing = (
        run_city(
            CityParameters(
                scenario="habits", policy="prefetching", foresees=foresees, habit=1.0,
                duration_s=2 * 3600, subscribers=8, publishers=8,
            )
        ).total["stored"]
        for foresees in (True, False)
    )  # fmt: skip
    assert knowing < guessing


def test_ratios_are_of_the_windows_that_are_asked_for() -> None:
    quiet = Counter({"publication": 80, "live": 20})
    busy = Counter({"publication": 80, "live": 20, "stored": 40, "induced": 10, "forwarded": 30})
    counts = CityCounts((quiet, quiet, quiet, busy, busy, busy), 1, 1)
    assert counts.ratio() == pytest.approx(240 / 600)
    assert counts.ratio(until_s=1800) == 0.0
    assert counts.ratio(with_last_hop=False) == pytest.approx(150 / 480)
    assert counts.peak() == (pytest.approx(0.8), 1)
    assert counts.share("induced") == pytest.approx(0.2)
