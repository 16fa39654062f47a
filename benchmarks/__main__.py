"""Runs every benchmark, or those named, and prints one table for each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.table import Row


def main(wanted: Sequence[str]) -> int:
    """Print the tables; the exit code is 1 if a target is missed."""
    console = Console()
    known = sorted(
        path.stem for path in Path(__file__).parent.glob("*_*.py") if path.stem[0] != "_"
    )
    names = [name for name in known if not wanted or name in wanted]
    if not names or set(wanted) - set(known):
        console.print("No such benchmark; choose from " + ", ".join(known) + ".")
        return 2
    missed = 0
    for name in names:
        rows = import_module(f"benchmarks.{name}").rows()
        console.print(as_table(name.replace("_", " "), rows))
        missed += sum(row.met is False for row in rows)
    console.print(f"{missed} target(s) missed." if missed else "Every target met.")
    return 1 if missed else 0


def as_table(title: str, rows: list[Row]) -> Table:
    """The rows as a person reads them."""
    table = Table(title=title, title_justify="left")
    for heading in ("task", "measured", "target", "met", "note"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        met = {True: "yes", False: "NO", None: ""}[row.met]
        table.add_row(row.task, row.measured, row.target, met, row.note)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
