"""What an experiment is: a function of parameters and a seed, what is drawn, and what is claimed.

A claim says beforehand which numbers count as reproduced. Its value is taken of one seed at a time,
so that mean and interval over seeds are the framework's work and no claim's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, Literal, TypedDict, get_args

import pandas as pd

Scale = Literal["small", "paper", "10x"]
SCALES: tuple[Scale, ...] = get_args(Scale)
ClaimKind = Literal["paper", "ours", "aside", "check", "fitted"]
Parameters = Mapping[str, Any]
Measure = Callable[..., Mapping[str, Any] | Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every combination of the grid's values, with so many seeds from 0 on.

    task_cpu_s: what one call takes of a core, as measured; a run's cost is told by it beforehand.
    """

    grid: Mapping[str, Sequence[Any]]
    seeds: int
    task_cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure: the mean of column y over column x, with an interval over seeds.

    series: the column whose values get a line each; panel: the one whose values get axes each.
    where: only rows that have these values are drawn.
    """

    name: str
    title: str
    x: str
    y: str
    x_label: str
    y_label: str
    series: str | None = None
    panel: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A number of a paper's text with ours beside it, or our method beside the paper's.

    quoted: the paper's words. value: our number, of the rows of one seed; not a number where those
    rows cannot tell. It counts as reproduced from least to most, both included; a claim without
    either compares with nothing. why: shown where it does not reproduce. over: a parameter of which
    it compares several values. each_seed: it must hold in every seed, not in the mean, as what was
    lost in one is not averaged away.

    kind: "ours" is our method beside a paper's. These count for neither: an aside reads the paper's
    words otherwise than it defines them, or was measured on another machine, a check is what must
    hold in any case, and a fitted number is one that we chose an input by.
    """

    says: str
    quoted: str
    value: Callable[[pd.DataFrame], float]
    least: float | None = None
    most: float | None = None
    unit: str = ""
    kind: ClaimKind = "paper"
    why: str = ""
    over: str = ""
    each_seed: bool = False

    @property
    def compares(self) -> bool:
        """Whether some number would speak against it."""
        return self.least is not None or self.most is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One question with its answer's shape.

    measure: a function of a module, called as measure(seed=..., **parameters) on executors. It
    returns a row or rows, mappings of names to numbers and texts, and depends on its arguments
    alone. hands_on: parameters that its signature does not name, and what they usually are.
    needs_trace: it has a parameter trace, the folder of one that is named with --trace.
    judged_at: sizes of the paper by parameter, where smaller ones were seen to answer otherwise.
    deciding: those of a call's parameters that decide what it measures. Calls that are alike in
    these are made once, and each of them has the rows.
    """

    name: str
    paper: str
    title: str
    shows: str
    measure: Measure
    scales: Mapping[Scale, Sweep]
    plots: tuple[Plot, ...] = ()
    claims: tuple[Claim, ...] = ()
    hands_on: Mapping[str, Any] = field(default_factory=dict)
    needs_trace: bool = False
    judged_at: Mapping[str, float] = field(default_factory=dict)
    deciding: Callable[[Parameters], Parameters] = dict

    def usual(self) -> dict[str, Any]:
        """What its parameters are unless they are swept, of those that need not be."""
        named = {
            name: one.default
            for name, one in signature(self.measure).parameters.items()
            if one.default is not Parameter.empty
        }
        return {**named, **self.hands_on}


class Bounds(TypedDict):
    """The bounds of a claim, to be unpacked into it."""

    least: float
    most: float


def about(number: float) -> Bounds:
    """What counts as reproduced where a paper says that something is about a number."""
    return {"least": number - 0.1 * abs(number), "most": number + 0.1 * abs(number)}
