"""Rows of one run in the city, as experiments report them."""

from __future__ import annotations

from collections import Counter
from math import nan
from typing import Any

from meshwright.lab.city.analysis import measured, predicted
from meshwright.lab.city.counts import (
    MIGRATION,
    WINDOW_US,
    CityCounts,
    multicast,
    unicast,
)
from meshwright.lab.city.running import CityParameters, draw_plans, run_city
from meshwright.model.times import SECOND_US
from meshwright.sim.physics.chance import streams

Row = dict[str, Any]
# Runs begin at this hour of the day.
BEGIN_H = 16.0
HOUR_S = 3600


def city_rows(*, seed: int, hours: float, **parameters: Any) -> list[Row]:
    """One run: a row of the whole run, and one of each ten minutes."""
    asked = CityParameters(seed=seed, duration_s=round(hours * HOUR_S), **parameters)
    counts = run_city(asked)
    return [_run_row(counts), *_window_rows(asked, counts)]


def run_rows(*, seed: int, hours: float, **parameters: Any) -> Row:
    """One run in one row."""
    asked = CityParameters(seed=seed, duration_s=round(hours * HOUR_S), **parameters)
    return _run_row(run_city(asked))


def model_row(*, seed: int, hours: float, **parameters: Any) -> Row:
    """What the analytical model says of a run, and what the run sent."""
    asked = CityParameters(seed=seed, duration_s=round(hours * HOUR_S), **parameters)
    model, ours = predicted(asked), measured(run_city(asked))
    return {
        "subscriptions_predicted": model.subscription_messages,
        "subscriptions_measured": ours.subscription_messages,
        "events_predicted": model.event_messages,
        "events_measured": ours.event_messages,
        "total_predicted": model.total,
        "total_measured": ours.total,
    }


def _run_row(counts: CityCounts) -> Row:
    peak, at = counts.peak()
    total = counts.total
    average = counts.ratio()
    return {
        "part": "run",
        "average": average,
        "average_between_brokers": counts.ratio(with_last_hop=False),
        "average_to_19:30": counts.ratio(until_s=round(3.5 * HOUR_S)),
        "average_to_20:00": counts.ratio(until_s=4 * HOUR_S),
        "peak": peak,
        "peak_between_brokers": counts.peak(with_last_hop=False)[0],
        "peak_hour": BEGIN_H + at / 2,
        "peak_over_average": peak / average if average else nan,
        "migration_share": counts.share(*MIGRATION),
        "transfer_share": counts.share("subscriptions"),
        "stored_share": counts.share("stored"),
        "home_share": counts.share("home"),
        "migration_over_stored": _ratio(sum(total[kind] for kind in MIGRATION), total["stored"]),
        "unicast": unicast(total),
        "multicast": multicast(total),
        "messages": unicast(total) + multicast(total) + total["advertisement"],
        "undelivered": counts.owed - counts.delivered,
        **dict.fromkeys(("hour", "cost_per_minute", "arrivals_share"), nan),
    }


def _window_rows(asked: CityParameters, counts: CityCounts) -> list[Row]:
    """Only what is of a window; all else is not a number here."""
    plans = draw_plans(asked, streams(asked.seed))
    arrivals = Counter(
        move.arrives_us // WINDOW_US for journey in plans.journeys for move in journey.moves
    )
    minutes = WINDOW_US / (60 * SECOND_US)
    blank = dict.fromkeys(_run_row(counts), nan)
    return [
        {
            **blank,
            "part": "window",
            "hour": BEGIN_H + number * minutes / 60,
            "cost_per_minute": (unicast(window) + multicast(window)) / minutes,
            "arrivals_share": arrivals[number] / asked.subscribers,
        }
        for number, window in enumerate(counts.windows)
    ]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else nan
