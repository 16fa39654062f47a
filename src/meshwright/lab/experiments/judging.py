"""What results say of claims: a mean with its interval over seeds, and a verdict.

A claim is reproduced if the whole interval lies in what the claim allows, and is not if the whole
interval lies outside; in between more seeds are needed, and nobody can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy import stats

from meshwright.lab.experiments.experiment import Claim
from meshwright.lab.experiments.results import SEED_COLUMN
from meshwright.model.wording import counted

Verdict = Literal["does not", "cannot be told", "reproduces"]
# What does not reproduce is told first.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
CONFIDENCE = 0.95
# Sums of floating-point numbers in another order differ by less.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds and half the width of its interval; None where one seed tells none."""

    mean: float
    half_width: float | None
    seeds: int

    @property
    def low(self) -> float:
        """Where the interval begins."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Where the interval ends."""
        return self.mean + (self.half_width or 0.0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim, what we measured for it, and what follows, with the reason."""

    claim: Claim
    estimate: Estimate | None
    verdict: Verdict
    reason: str
    # What the numbers would say if the sizes that were run were the paper's, if anything.
    would: bool | None = None

    @property
    def is_told(self) -> bool:
        """Whether the claim was decided."""
        return self.verdict != "cannot be told"


def estimate(samples: np.ndarray) -> Estimate | None:
    """The mean of samples, one a seed, with its interval by Student's t; None without samples.

    What was divided by nothing is no sample.
    """
    known = samples[np.isfinite(samples)]
    if len(known) == 0:
        return None
    if len(known) == 1:
        return Estimate(float(known[0]), None, 1)
    quantile = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(known) - 1))
    half_width = quantile * float(known.std(ddof=1)) / sqrt(len(known))
    return Estimate(float(known.mean()), half_width, len(known))


def judge(
    claim: Claim, rows: pd.DataFrame, judged_at: Mapping[str, float] | None = None
) -> Judgement:
    """What the rows say of a claim, seed by seed; judged_at: of its experiment."""
    if rows.empty:
        return Judgement(claim, None, "cannot be told", "No seed has all its tasks yet.")
    if claim.over and rows[claim.over].nunique() == 1:
        only = f"This run has one value of {claim.over}, and the claim compares several."
        return Judgement(claim, None, "cannot be told", only)
    values = [_value(claim, of_seed) for _, of_seed in rows.groupby(SEED_COLUMN, sort=True)]
    found = estimate(np.array(values, dtype=np.float64))
    if found is None:
        return Judgement(claim, None, "cannot be told", "This run has not the sizes it is about.")
    if not claim.compares:
        return Judgement(claim, found, "cannot be told", claim.why or "The paper gives no number.")
    outside = [value for value in values if _is_outside(claim, value)]
    if claim.each_seed and outside:
        seeds = f"In {len(outside)} of {counted(found.seeds, 'seed')}."
        return Judgement(claim, found, "does not", f"{seeds} {claim.why}".rstrip())
    if too_small := _too_small(claim, rows, judged_at or {}):
        would = _verdict_of_mean(claim, found)
        said = {True: " Here it would.", False: " Here it would not.", None: ""}
        return Judgement(claim, found, "cannot be told", f"{too_small}{said[would]}", would)
    if found.half_width is None:
        return Judgement(claim, found, "cannot be told", "One seed has no spread; run more.")
    reproduces = _verdict_of_mean(claim, found)
    if reproduces is None:
        more = f"The interval over {counted(found.seeds, 'seed')} reaches into both."
        return Judgement(claim, found, "cannot be told", more)
    return Judgement(
        claim, found, "reproduces" if reproduces else "does not", "" if reproduces else claim.why
    )


def _is_outside(claim: Claim, value: float) -> bool:
    """Whether a number is one that the claim does not allow; one that is not known is allowed."""
    least, most = _bounds(claim)
    return value < least or value > most


def _verdict_of_mean(claim: Claim, found: Estimate) -> bool | None:
    """Whether a mean is what a claim allows, with its whole interval; None where it may be both."""
    least, most = _bounds(claim)
    if least <= found.low and found.high <= most:
        return True
    return False if found.high < least or most < found.low else None


def _bounds(claim: Claim) -> tuple[float, float]:
    least = -inf if claim.least is None else claim.least - ROUNDING
    return least, inf if claim.most is None else claim.most + ROUNDING


def _too_small(claim: Claim, rows: pd.DataFrame, judged_at: Mapping[str, float]) -> str:
    """Why neither a paper's words nor ours are judged by what was measured; "" if they are."""
    for name, size in judged_at.items():
        largest = rows[name].max()
        if claim.kind in {"paper", "aside", "ours"} and largest < size:
            return (
                f"Measured with {largest:,g} {name} where the paper has {size:,g}; smaller "
                "networks were seen to answer otherwise."
            )
    return ""


def _value(claim: Claim, rows: pd.DataFrame) -> float:
    """The claim's number of one seed; not a number where these rows have not what it compares."""
    try:
        return float(claim.value(rows))
    except (ZeroDivisionError, LookupError):  # nothing to divide by, or a size that was not swept
        return nan


def told(found: Estimate | None, unit: str = "") -> str:
    """A number with its spread, for people."""
    if found is None or isnan(found.mean):
        return "-"
    digits = _digits(found)
    shown = f"{found.mean:,.{digits}f}"
    if found.half_width is not None:
        shown += f" ± {found.half_width:,.{digits}f}"
    return f"{shown} {unit}".rstrip()


def _digits(found: Estimate) -> int:
    """So many that the interval shows, or three figures of the mean."""
    size = found.half_width or abs(found.mean) / 100
    return 2 if size == 0 else int(np.clip(np.ceil(1 - np.log10(size)), 0, 4))
