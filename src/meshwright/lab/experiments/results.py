"""A folder of results: for each experiment what was asked, and a Parquet file for each part of it.

A part is written whole when its tasks are done, so a run that was stopped goes on where it was. A
folder of another question, or of another version of our code, is not mixed with new results.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.result_tables import table_writer
from meshwright.files.writing import make_folder, write_whole
from meshwright.lab.experiments.experiment import Scale

# What is measured again: nothing, what was asked otherwise or of other code, or all.
Again = Literal["nothing", "outdated", "all"]
QUESTION_FILE = "question.json"
TASK_COLUMN, SEED_COLUMN, CPU_COLUMN = "task", "seed", "task_cpu_s"
OWN_COLUMNS = (TASK_COLUMN, SEED_COLUMN, CPU_COLUMN)


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked: of which experiment, at what size, by which version of our code, and when.

    fixed: parameters that were not swept. seeds: the most that were asked for. sources: a digest of
    the code. asked_at: of the first part, in UTC.
    """

    experiment: str
    scale: Scale
    grid: dict[str, list[Any]]
    fixed: dict[str, Any] = {}
    seeds: int
    version: str
    sources: str
    asked_at: str

    def is_same(self, other: Question) -> bool:
        """Whether parts of both may be put together, whenever and of how many seeds they are."""
        unlike = {"asked_at": other.asked_at, "seeds": other.seeds}
        return msgspec.structs.replace(self, **unlike) == other


class ResultFolder:
    """Where the results of one experiment are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def refuse(self, question: Question, *, again: Again = "nothing") -> None:
        """Say in one sentence why results of a question cannot be put here, if they cannot."""
        if not self.folder.exists():
            return
        if not (self.folder / QUESTION_FILE).exists():
            if any(self.folder.iterdir()):
                raise OperatorError(
                    f"{self.folder} is not empty and has no {QUESTION_FILE}; choose another folder."
                )
            return
        if again == "all" or not self._parts():
            return
        if self.answers(question):
            self.done()
        elif again == "nothing":
            former = _difference(self.question(), question)
            raise OperatorError(
                f"{self.folder} has results of {former}; choose another folder with --out, or "
                "--renew to have these measured again."
            )

    def open(self, question: Question, *, again: Again = "nothing") -> None:
        """Take the folder for a question; again: which of the results there are to go."""
        self.refuse(question, again=again)
        path = self.folder / QUESTION_FILE
        if path.exists() and (again == "all" or not self._parts() or not self.answers(question)):
            shutil.rmtree(self.folder)
        if path.exists():
            former = self.question()
            question = msgspec.structs.replace(former, seeds=max(former.seeds, question.seeds))
        make_folder(self.folder)
        write_whole({path: msgspec.json.format(msgspec.json.encode(question), indent=2)})

    def answers(self, question: Question) -> bool:
        """Whether what is there are results of this question, all or some."""
        return (self.folder / QUESTION_FILE).exists() and self.question().is_same(question)

    def question(self) -> Question:
        """What was asked."""
        path = self.folder / QUESTION_FILE
        remedy = "have it measured again with lab run --anew"
        try:
            found = decoded(path.read_bytes(), Question)
        except msgspec.DecodeError as error:
            fault = f"this is no question of an experiment ({error})"
            raise InputFileError(str(path), fault, remedy=remedy) from None
        if found.experiment != self.folder.name:
            fault = f"the folder is of {self.folder.name}, and this of {found.experiment}"
            raise InputFileError(str(path), fault, remedy=remedy)
        return found

    def done(self) -> set[int]:
        """The numbers of the tasks whose rows are there."""
        return {int(task) for part in self._tables() for task in part[TASK_COLUMN].to_pylist()}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep the rows of some tasks."""
        names = dict.fromkeys(name for row in rows for name in row)
        try:
            table = pa.table({name: [row.get(name) for row in rows] for name in names})
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise OperatorError(
                f"The results make no table ({error}); return values of one kind under each name."
            ) from None
        table_writer(self.folder / f"part-{rows[0][TASK_COLUMN]:07d}.parquet")(table)

    def rows(self) -> pd.DataFrame:
        """All rows, in the order of the tasks."""
        tables = list(self._tables())
        if not tables:
            return pd.DataFrame(columns=list(OWN_COLUMNS))
        whole = pa.concat_tables(tables, promote_options="permissive").to_pandas()
        return whole.sort_values(TASK_COLUMN, kind="stable").reset_index(drop=True)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _tables(self) -> Iterable[pa.Table]:
        for part in self._parts():
            try:
                yield arrow_parquet.read_table(part)
            except (pa.ArrowInvalid, OSError) as error:
                raise InputFileError(
                    str(part), f"this part of the results cannot be read ({error})",
                    remedy="delete it, and lab run measures it again",
                ) from None  # fmt: skip


def result_folders(out: Path) -> dict[str, ResultFolder]:
    """The results in a folder, by the names of experiments."""
    if out.exists() and not out.is_dir():
        raise OperatorError(f"{out} is no folder; name one that lab run --out has made.")
    found = {path.parent.name: ResultFolder(path.parent) for path in out.glob(f"*/{QUESTION_FILE}")}
    if not found and any(out.glob("*/part-*.parquet")):
        raise OperatorError(
            f"{out} has rows, but no {QUESTION_FILE} that says of what; name another folder."
        )
    if not found:
        raise OperatorError(f"{out} has no results; meshwright lab run --out {out} makes some.")
    return found


def _difference(former: Question, question: Question) -> str:
    if former.scale != question.scale:
        return f"scale {former.scale}"
    if (former.grid, former.fixed) != (question.grid, question.fixed):
        return "other parameters"
    return "another version of the code"
