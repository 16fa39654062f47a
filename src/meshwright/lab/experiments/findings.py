"""What a folder of results says: every experiment with its figures and its judged claims."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from meshwright.errors import OperatorError
from meshwright.lab.experiments.catalogue import all_experiments
from meshwright.lab.experiments.experiment import SCALES, Claim, Experiment
from meshwright.lab.experiments.judging import Judgement, judge
from meshwright.lab.experiments.results import (
    CPU_COLUMN,
    SEED_COLUMN,
    TASK_COLUMN,
    Question,
    result_folders,
)
from meshwright.lab.experiments.running import tasks_of
from meshwright.model.wording import counted


@dataclass(frozen=True, slots=True)
class Run:
    """An experiment as it was run at one scale: its rows, and how much of it is missing."""

    question: Question
    rows: pd.DataFrame
    missing: int

    @property
    def whole_seeds(self) -> pd.DataFrame:
        """The rows of seeds that have all their tasks, as claims compare rows of one seed."""
        each = tasks_of(self.question).tasks_each
        tasks = self.rows.groupby(SEED_COLUMN)[TASK_COLUMN].transform("nunique")
        return self.rows[tasks == each]

    @property
    def core_minutes(self) -> float:
        """What its tasks took of one core."""
        return float(self.rows.drop_duplicates(TASK_COLUMN)[CPU_COLUMN].sum()) / 60

    @property
    def told(self) -> str:
        """How it was measured, for people."""
        asked = self.question
        missing = f", {counted(self.missing, 'task')} not run yet" if self.missing else ""
        return (
            f"scale {asked.scale}, {counted(asked.seeds, 'seed')}, {self.core_minutes:.1f} "
            f"core-minutes, version {asked.version}, {asked.asked_at}{missing}"
        )


@dataclass(frozen=True, slots=True)
class Told:
    """A judged claim, and the run that it was judged by."""

    judgement: Judgement
    run: Run


@dataclass(frozen=True, slots=True)
class Finding:
    """One experiment: its runs, the largest scale first, and what they say."""

    experiment: Experiment
    runs: tuple[Run, ...]
    claims: tuple[Told, ...]

    @property
    def told(self) -> str:
        """How it was measured, for people."""
        return "; ".join(run.told for run in self.runs)

    @property
    def fixed(self) -> str:
        """What the largest run did not sweep, for people; "" if nothing."""
        return ", ".join(
            f"{name} {value if isinstance(value, str) else json.dumps(value)}"
            for name, value in self.runs[0].question.fixed.items()
        )


def found_in(experiment: Experiment, runs: Iterable[Run]) -> Finding:
    """What some runs of an experiment say, each claim by the largest scale that can tell it."""
    largest = sorted(runs, key=lambda run: SCALES.index(run.question.scale), reverse=True)
    return Finding(
        experiment,
        tuple(largest),
        tuple(_told(claim, largest, experiment.judged_at) for claim in experiment.claims),
    )


def _told(claim: Claim, runs: Sequence[Run], judged_at: Mapping[str, float]) -> Told:
    tried = [Told(judge(claim, run.whole_seeds, judged_at), run) for run in runs]
    return next((one for one in tried if one.judgement.is_told), tried[0])


def findings(*folders: Path) -> list[Finding]:
    """Every experiment of some folders that has rows, in the order of the catalogue."""
    known = all_experiments()
    runs: dict[str, list[Run]] = {}
    for folder in folders:
        for name, results in result_folders(folder).items():
            if name not in known:
                raise OperatorError(
                    f"{folder / name} has results of an experiment that there is not; move it away."
                )
            question, rows = results.question(), results.rows()
            if rows.empty:
                continue
            missing = len(tasks_of(question)) - int(rows[TASK_COLUMN].nunique())
            runs.setdefault(name, []).append(Run(question, rows, missing))
    if not runs:
        raise OperatorError(
            f"Nothing in {', '.join(map(str, folders))} is done yet; go on with meshwright lab run."
        )
    return [found_in(one, runs[name]) for name, one in known.items() if name in runs]


def judged(found: list[Finding], kind: str, verdict: str) -> Iterator[tuple[Finding, Told]]:
    """The claims of a kind with a verdict, in order."""
    for one in found:
        for told in one.claims:
            if told.judgement.claim.kind == kind and told.judgement.verdict == verdict:
                yield one, told


def document(found: list[Finding]) -> dict[str, Any]:
    """All of it for a script."""
    return {
        "experiments": [
            {
                "experiment": one.experiment.name,
                "paper": one.experiment.paper,
                "title": one.experiment.title,
                "shows": one.experiment.shows,
                "runs": [_run(run) for run in one.runs],
                "claims": [_claim(told) for told in one.claims],
            }
            for one in found
        ]
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "scale": run.question.scale,
        "seeds": run.question.seeds,
        "version": run.question.version,
        "asked_at": run.question.asked_at,
        "grid": run.question.grid,
        "fixed": run.question.fixed,
        "core_minutes": run.core_minutes,
        "rows": len(run.rows),
        "tasks_missing": run.missing,
    }


def _claim(told: Told) -> dict[str, Any]:
    judgement = told.judgement
    claim, found = judgement.claim, judgement.estimate
    return {
        "says": claim.says,
        "kind": claim.kind,
        "quoted": claim.quoted,
        "least": claim.least,
        "most": claim.most,
        "unit": claim.unit,
        "scale": told.run.question.scale,
        "mean": None if found is None else found.mean,
        "half_width": None if found is None else found.half_width,
        "seeds": 0 if found is None else found.seeds,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
    }
