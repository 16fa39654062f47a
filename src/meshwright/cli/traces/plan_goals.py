"""Goals of a plan as they are given on the command line: in a file, by options, or both."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from meshwright.model.goals import Goals

DOCUMENTED_IN = "docs/FILES.md"

GoalWords = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="NAME=VALUE",
        show_default="none",
        help="What the plan must keep: k_min, clients_max, messages_per_s_max, degree_max; or "
        "prefer=cost,delay,...: what it is chosen by, first things first. May be repeated.",
    ),
]
GoalsFile = Annotated[
    Path | None, typer.Option("--goals", metavar="FILE", help="The same as a TOML file.")
]
DegreeMax = Annotated[
    int | None,
    typer.Option(
        "--degree-max", min=1, show_default="any", help="The same as --goal degree_max=NUMBER."
    ),
]


def read_goals(file: Path | None, words: list[str] | None, degree_max: int | None) -> Goals:
    """The goals of a file, with those of options in their place."""
    import msgspec

    from meshwright.errors import OperatorError
    from meshwright.files.decoding import converted
    from meshwright.files.settings import blaming_settings, read_settings
    from meshwright.model.goals import Goals

    known = Goals() if file is None else read_settings(file, Goals, documented_in=DOCUMENTED_IN)
    given = dict(_parsed(word) for word in words or ())
    if degree_max is not None:
        given["degree_max"] = degree_max
    try:
        goals = converted({**msgspec.to_builtins(known), **given}, Goals, strict=False)
    except msgspec.ValidationError as error:
        problem, _, name = str(error).rstrip("`").partition(" - at `$.")
        raise OperatorError(
            f"--goal {name}: {problem[:1].lower()}{problem[1:]}; see {DOCUMENTED_IN}."
        ) from None
    with blaming_settings(file, frozenset((name,) for name in given)):
        goals.check()
    return goals


def _parsed(word: str) -> tuple[str, Any]:
    from meshwright.errors import OperatorError
    from meshwright.model.goals import Goals

    name, sign, value = word.partition("=")
    if not sign:
        raise OperatorError(f"--goal {word}: there is no value; give NAME=VALUE.")
    if name not in Goals.__struct_fields__:
        near = difflib.get_close_matches(name, Goals.__struct_fields__, n=1, cutoff=0.0)[0]
        raise OperatorError(f"--goal {word}: there is no goal {name!r}; did you mean {near!r}.")
    return name, value.split(",") if name == "prefer" else value
