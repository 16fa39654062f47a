from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from meshwright.lab.experiments.experiment import Claim, about
from meshwright.lab.experiments.judging import Estimate, estimate, judge, told

Value = Callable[[pd.DataFrame], float]
SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30).filter(
    lambda values: np.ptp(values) > 1e-3
)


@given(SAMPLES)
def test_an_interval_is_that_of_students_test(values: list[float]) -> None:
    found = estimate(np.array(values))
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found is not None
    assert math.isclose(found.low, expected.low, rel_tol=1e-6, abs_tol=1e-6)
    assert math.isclose(found.high, expected.high, rel_tol=1e-6, abs_tol=1e-6)


def test_seeds_that_cannot_tell_do_not_count() -> None:
    assert estimate(np.array([math.nan, math.nan])) is None
    assert estimate(np.array([math.nan, 3.0])) == Estimate(3.0, None, 1)


def claimed(values: list[float], **limits: float) -> str:
    rows = pd.DataFrame({"seed": range(len(values)), "degree": values})
    claim = Claim(
        says="the degree is small", quoted="2", value=lambda one: one.degree.mean(), **limits
    )
    return judge(claim, rows).verdict


def test_a_claim_holds_if_the_whole_interval_lies_in_what_it_allows() -> None:
    assert claimed([1.9, 2.0, 2.1], **about(2.0)) == "cannot be told"
    assert claimed([1.99, 2.0, 2.01], **about(2.0)) == "reproduces"
    assert claimed([2.99, 3.0, 3.01], **about(2.0)) == "does not"
    assert claimed([2.0], **about(2.0)) == "cannot be told"


def test_growth_is_not_told_by_one_size() -> None:
    growth = Claim(says="", quoted="", value=lambda _: 1.0, least=1.0, over="brokers")
    rows = pd.DataFrame({"seed": [0, 0, 1, 1], "brokers": [10, 10, 10, 10]})
    assert judge(growth, rows).reason.startswith("This run has one value of brokers")
    assert judge(growth, rows.assign(brokers=[10, 20, 10, 20])).verdict == "reproduces"


def test_what_is_divided_by_nothing_in_a_seed_is_left_out() -> None:
    claim = Claim(says="", quoted="", value=lambda rows: (rows.a / rows.b).mean(), least=1.0)
    rows = pd.DataFrame({"seed": [0, 1, 2], "a": [2.0, 2.2, 2.0], "b": [1.0, 1.0, 0.0]})
    found = judge(claim, rows)
    assert found.estimate is not None
    assert (found.estimate.mean, found.estimate.seeds) == (pytest.approx(2.1), 2)
    assert told(found.estimate).startswith("2.1")


def test_neither_a_papers_number_nor_ours_is_judged_by_a_network_that_is_too_small() -> None:
    claim = Claim(says="", quoted="", value=lambda rows: rows.delay.mean(), least=1.0)
    rows = pd.DataFrame({"seed": [0, 1], "brokers": [10, 10], "delay": [2.0, 2.1]})
    found = judge(claim, rows, {"brokers": 100})
    assert found.verdict == "cannot be told"
    assert found.reason.startswith("Measured with 10 brokers where the paper has 100;")
    assert found.estimate is not None
    assert found.reason.endswith("Here it would.")
    aside = dataclasses.replace(claim, kind="aside", least=3.0)
    assert judge(aside, rows, {"brokers": 100}).reason.endswith("Here it would not.")
    assert found.would is True
    ours = dataclasses.replace(claim, kind="ours")
    assert judge(ours, rows, {"brokers": 100}).verdict == "cannot be told"
    check = dataclasses.replace(claim, kind="check")
    for decided, size in ((claim, 10), (ours, 10), (check, 100)):
        assert judge(decided, rows, {"brokers": size}).verdict == "reproduces"


def test_what_is_lost_in_one_seed_is_not_averaged_away() -> None:
    lost = pd.DataFrame({"seed": range(10), "lost": [500.0, 500.0, 500.0, *[0.0] * 7]})
    claim = Claim(
        says="", quoted="", value=lambda rows: rows.lost.sum(), most=0.0, kind="check", why="Why."
    )
    assert judge(claim, lost).verdict == "cannot be told"
    strict = dataclasses.replace(claim, each_seed=True)
    found = judge(strict, lost)
    assert (found.verdict, found.reason) == ("does not", "In 3 of 10 seeds. Why.")
    assert judge(strict, lost.assign(lost=0.0)).verdict == "reproduces"


@pytest.mark.parametrize(
    "value",
    [
        lambda rows: 1 / int(rows.degree.sum()),
        lambda rows: rows.pivot_table(index="seed", columns="degree")[7],
        lambda rows: rows.degree.iloc[10],
    ],
)
def test_a_seed_without_what_a_claim_compares_tells_nothing(value: Value) -> None:
    rows = pd.DataFrame({"seed": [0, 1], "degree": [0.0, 0.0]})
    assert judge(Claim(says="", quoted="", value=value, least=1.0), rows).estimate is None


def test_a_limit_on_one_side_leaves_the_other_open() -> None:
    assert claimed([50.0, 60.0, 55.0], least=10.0) == "reproduces"
    assert claimed([50.0, 60.0, 55.0], most=10.0) == "does not"
    assert claimed([0.9, 0.9, 0.9], least=0.9, most=0.9) == "reproduces"


def test_what_compares_with_nothing_or_was_not_measured_cannot_be_told() -> None:
    assert claimed([1.0, 2.0]) == "cannot be told"
    assert claimed([math.nan], least=1.0) == "cannot be told"


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (Estimate(1.6512, 0.0213, 10), "1.651 ± 0.021"),
        (Estimate(54.204, 0.31, 10), "54.20 ± 0.31"),
        (Estimate(12345.6, 210.0, 10), "12,346 ± 210"),
        (Estimate(0.8027, None, 1), "0.8027"),
        (Estimate(0.0, 0.0, 10), "0.00 ± 0.00"),
        (None, "-"),
    ],
)
def test_numbers_are_shown_as_far_as_they_are_known(found: Estimate | None, shown: str) -> None:
    assert told(found) == shown
    assert told(found, "%") == ("-" if found is None else f"{shown} %")
