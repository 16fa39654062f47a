"""meshwright check: whether every promise was kept in what clients saw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import Json
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meshwright.history.violation import Violation

SENTENCES_MAX = 20


def check(
    path: Annotated[
        Path, typer.Argument(metavar="HISTORY.jsonl", help="What clients saw, one line a fact.")
    ],
    *,
    as_json: Json = False,
) -> None:
    """Judge a history of clients; exit with 1 if anything was lost, doubled, reordered or astray.

    Example: meshwright check history.jsonl
    """
    from meshwright.files.histories import read_history
    from meshwright.history.judgement import totals, violations

    history = read_history(path)
    found = violations(history)
    counted = totals(history, found)
    answer(
        as_json,
        {"command": "check", "history": str(path), "totals": counted, "violations": found},
        plain_table(dict.fromkeys(counted, True), [[f"{count:,}" for count in counted.values()]]),
        *sentences(found),
    )
    if found:
        raise typer.Exit(CHECK_SAYS_NO)


def sentences(found: Sequence[Violation]) -> list[str]:
    """What was found, as people read it; the first of much."""
    if not found:
        return ["No checker found anything."]
    lines = [f"{one.checker}: {one.sentence}" for one in found[:SENTENCES_MAX]]
    rest = len(found) - len(lines)
    return [*lines, f"and {rest:,} more"] if rest else lines
