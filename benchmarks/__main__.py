"""Runs every benchmark of the planners, or those named, and prints one table for each."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.table import Row


def main(wanted: Iterable[str]) -> int:
    """Print the tables; the exit code is 1 if a target is missed."""
    console = Console()
    known = sorted(path.stem for path in Path(__file__).parent.glob("planning_*.py"))
    names = [name for name in known if not wanted or name.removeprefix("planning_") in wanted]
    if not names:
        console.print("No such benchmark; choose from " + ", ".join(known) + ".")
        return 2
    missed = 0
    for name in names:
        rows = import_module(f"benchmarks.{name}").rows()
        console.print(as_table(name.removeprefix("planning_").replace("_", " "), rows))
        missed += sum(row.met is False for row in rows)
    console.print(f"{missed} target(s) missed." if missed else "Every target met.")
    return 1 if missed else 0


def as_table(title: str, rows: list[Row]) -> Table:
    """The rows as a person reads them."""
    table = Table(title=title, title_justify="left")
    for heading in ("task", "measured", "target", "paper", "met", "note"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        met = {True: "yes", False: "NO", None: ""}[row.met]
        table.add_row(row.task, row.measured, row.target, row.paper, met, row.note)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
