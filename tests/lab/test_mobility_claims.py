"""The mobility paper's claims: their values are of the rows they name, or tell nothing."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from meshwright.lab.city.measuring import run_rows
from meshwright.lab.experiments.running import Order
from meshwright.lab.papers.mobility import (
    EXPERIMENTS,
    PREDICTION,
    growth,
    largest,
    mean_of,
    over,
)

ROWS = pd.DataFrame(
    {
        "policy": ["standard", "standard", "home", "home"],
        "subscribers": [20, 80, 20, 80],
        "average": [0.0, 0.5, 1.0, 4.0],
    }
)


def test_values_are_of_the_rows_that_they_name() -> None:
    assert mean_of("average", policy="home")(ROWS) == 2.5
    assert largest("average", policy="standard")(ROWS) == 0.5
    assert growth("home")(ROWS) == 4.0


def test_what_rows_cannot_tell_is_not_a_number() -> None:
    assert isnan(mean_of("average", policy="standard", subscribers=800)(ROWS))
    assert isnan(growth("standard")(ROWS))
    assert isnan(over(mean_of("average", subscribers=800), mean_of("average"))(ROWS))


def test_every_experiment_asks_for_what_a_run_in_the_city_takes() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("mobility-") for name in names)
    assert all({"small", "paper"} <= set(one.scales) for one in EXPERIMENTS)


def test_policies_that_do_not_look_at_a_parameter_are_run_once_for_all_its_values() -> None:
    asked: dict[str, list[Any]] = {
        "policy": ["standard", "watching"], "foresees": [False, True], "watchers_max": [1, 8],
        "habit": [0.5], "subscribers": [8], "publishers": [8], "hours": [0.2],
    }  # fmt: skip
    order = Order(PREDICTION, "small", 1, changes=asked)
    calls = order.calls(range(len(order.tasks)))
    assert [len(one) for one in calls] == [4, 1, 1, 2]
    for one in calls:
        rows = [run_rows(**order.tasks[number].parameters, seed=0) for number in one]
        assert all(str(row) == str(rows[0]) for row in rows)
