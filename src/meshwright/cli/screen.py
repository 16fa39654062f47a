"""What a person or a script sees: one answer on stdout, progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
import typer
from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.table import Table

T = TypeVar("T")

WIDTH_MIN = 120
# The exit code of a command that was asked whether all is well.
CHECK_SAYS_NO = 1


def answer(as_json: bool, document: Mapping[str, Any], *shown: RenderableType) -> None:
    """Print the document as JSON, or else what is shown to people."""
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8"))
        return
    # A table is never cut to a narrow terminal: that would hide figures.
    console = Console(width=max(Console().width, WIDTH_MIN))
    for item in shown:
        console.print(item, markup=False, highlight=False, soft_wrap=isinstance(item, str))


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: 1 session, 2 sessions."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def plain_table(columns: Mapping[str, bool], rows: Iterable[Iterable[str]]) -> Table:
    """A table; the columns say whether they hold numbers, which are set to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name, numeric in columns.items():
        table.add_column(name, justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


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
