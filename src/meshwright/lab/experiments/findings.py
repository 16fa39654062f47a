"""What a folder of results says: every experiment with its figures and its judged claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from meshwright.errors import OperatorError
from meshwright.lab.experiments.catalogue import all_experiments
from meshwright.lab.experiments.experiment import Experiment
from meshwright.lab.experiments.judging import Judgement, judge
from meshwright.lab.experiments.results import CPU_COLUMN, TASK_COLUMN, Question, result_folders
from meshwright.lab.experiments.running import task_grid


@dataclass(frozen=True, slots=True)
class Finding:
    """One experiment that was run: its rows, how much of it is missing, and what it says."""

    experiment: Experiment
    question: Question
    rows: pd.DataFrame
    missing: int
    judgements: tuple[Judgement, ...]

    @property
    def core_minutes(self) -> float:
        """What its tasks took of one core."""
        return float(self.rows.drop_duplicates(TASK_COLUMN)[CPU_COLUMN].sum()) / 60

    @property
    def told(self) -> str:
        """How it was measured, for people."""
        asked = self.question
        seeds = "1 seed" if asked.seeds == 1 else f"{asked.seeds} seeds"
        missing = f", {self.missing} tasks not run yet" if self.missing else ""
        return (
            f"scale {asked.scale}, {seeds}, {self.core_minutes:.1f} core-minutes, version "
            f"{asked.version}, {asked.asked_at}{missing}"
        )


def findings(out: Path) -> list[Finding]:
    """Every experiment of a folder that has rows, in the order of the catalogue."""
    known = all_experiments()
    folders = result_folders(out)
    strange = sorted(set(folders) - set(known))
    if strange:
        raise OperatorError(
            f"{out / strange[0]} has results of an experiment that there is not; move it away."
        )
    found = []
    for name, experiment in known.items():
        if name not in folders:
            continue
        question, rows = folders[name].question(), folders[name].rows()
        if rows.empty:
            continue
        missing = len(task_grid(question)) - int(rows[TASK_COLUMN].nunique())
        judged = tuple(judge(claim, rows) for claim in experiment.claims)
        found.append(Finding(experiment, question, rows, missing, judged))
    if not found:
        raise OperatorError(f"Nothing in {out} is done yet; go on with meshwright lab run.")
    return found


def judged(found: list[Finding], kind: str, verdict: str) -> Iterator[tuple[Finding, Judgement]]:
    """The claims of a kind with a verdict, in order."""
    for one in found:
        for judgement in one.judgements:
            if judgement.claim.kind == kind and judgement.verdict == verdict:
                yield one, judgement


def document(found: list[Finding]) -> dict[str, Any]:
    """All of it for a script."""
    return {
        "experiments": [
            {
                "experiment": one.experiment.name,
                "paper": one.experiment.paper,
                "title": one.experiment.title,
                "shows": one.experiment.shows,
                "scale": one.question.scale,
                "seeds": one.question.seeds,
                "version": one.question.version,
                "asked_at": one.question.asked_at,
                "core_minutes": one.core_minutes,
                "rows": len(one.rows),
                "tasks_missing": one.missing,
                "claims": [_claim(judgement) for judgement in one.judgements],
            }
            for one in found
        ]
    }


def _claim(judgement: Judgement) -> dict[str, Any]:
    claim, found = judgement.claim, judgement.estimate
    return {
        "says": claim.says,
        "kind": claim.kind,
        "quoted": claim.quoted,
        "least": claim.least,
        "most": claim.most,
        "unit": claim.unit,
        "mean": None if found is None else found.mean,
        "half_width": None if found is None else found.half_width,
        "seeds": 0 if found is None else found.seeds,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
    }
