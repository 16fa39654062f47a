"""What a person or a script sees: one answer on stdout, progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Literal, TypeVar

import msgspec
import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.table import Table
from rich.text import Text

T = TypeVar("T")

COLUMN_GAP = 2
NAMING_COLUMNS_MAX = 2
# The exit code of a command that was asked whether all is well.
CHECK_SAYS_NO = 1


def answer(as_json: bool, document: Mapping[str, Any], *shown: RenderableType) -> None:
    """Print the document as JSON, or else what is shown to people."""
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8"))
        return
    console = Console()
    for item in shown:
        console.print(item, markup=False, highlight=False, soft_wrap=isinstance(item, str))


def confirm(question: str) -> None:
    """End here unless somebody at the terminal says yes; stdout is for the answer alone."""
    typer.echo(f"{question} [y/N] ", nl=False, err=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        typer.echo("Nothing was done.", err=True)
        raise typer.Exit(CHECK_SAYS_NO)


def plain_table(columns: Mapping[str, bool], rows: Iterable[Iterable[str]]) -> PlainTable:
    """A table; the columns say whether they hold numbers, which are set to the right."""
    return PlainTable(
        tuple(
            _Column(name, is_number, cells)
            for (name, is_number), cells in zip(
                columns.items(), _turned(len(columns), rows), strict=True
            )
        )
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of a table, its heading on one line or, where room is short, a word on each."""

    heading: str
    is_number: bool
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        lines = (*self.heading.split("\n"), *self.cells)
        return max(len(line) for line in lines) + COLUMN_GAP

    def narrowed(self) -> _Column:
        return replace(self, heading=self.heading.replace(" ", "\n"))


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A table that fits its window: one too wide goes on below, its first columns repeated."""

    columns: tuple[_Column, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self.columns
        if sum(column.width for column in columns) > options.max_width:
            columns = tuple(column.narrowed() for column in columns)
        for part in _parts(columns, options.max_width):
            yield _ruled(part)


def _parts(columns: tuple[_Column, ...], width: int) -> Iterator[tuple[_Column, ...]]:
    """The columns cut into parts that fit; each begins with those that name its rows."""
    named = list(takewhile(lambda column: not column.is_number, columns))[:NAMING_COLUMNS_MAX]
    part = list(named)
    for column in columns[len(named) :]:
        taken = sum(each.width for each in part)
        if len(part) > len(named) and taken + column.width > width:
            yield tuple(part)
            part = list(named)
        part.append(column)
    yield tuple(part)


def _ruled(columns: tuple[_Column, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        table.add_column(
            column.heading, justify=justify, no_wrap=column.is_number, vertical="bottom",
            overflow="fold",
        )  # fmt: skip
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    return table


def _turned(count: int, rows: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """Rows as columns, also if there are none."""
    found = [tuple(row) for row in rows]
    return [tuple(row[at] for row in found) for at in range(count)]


@contextmanager
def working(description: str) -> Iterator[None]:
    """Show that work goes on, and for how long; silent where stderr is no terminal."""
    with _progress() as progress:
        progress.add_task(description, total=None)
        yield


def tracked(items: Iterator[T], count: int, description: str) -> Iterator[T]:
    """The items as they come, with a progress bar on the way."""
    with _progress(BarColumn(), MofNCompleteColumn()) as progress:
        task = progress.add_task(description, total=count)
        for item in items:
            progress.advance(task)
            yield item


class TaskBar:
    """A bar for work whose size shows only as it goes on, and that says what it is at."""

    def __init__(self, progress: Progress, description: str) -> None:
        self._progress = progress
        self._description = description
        self._task = progress.add_task(description, total=None)

    def count(self, tasks: tuple[int, int]) -> None:
        """Take (tasks done, tasks known)."""
        self._progress.update(self._task, completed=tasks[0], total=tasks[1] or None)

    def say(self, part: str) -> None:
        """Name the part of the work that begins."""
        shown = f"{self._description}: {part.replace('_', ' ')}"
        self._progress.update(self._task, description=shown)


@contextmanager
def task_bar(description: str) -> Iterator[TaskBar]:
    """Show the bar until the block ends."""
    with _progress(BarColumn(), MofNCompleteColumn()) as progress:
        yield TaskBar(progress, description)


def _progress(*columns: BarColumn | MofNCompleteColumn) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        *columns,
        Elapsed(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
