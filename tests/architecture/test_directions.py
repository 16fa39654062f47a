"""Calls in the core go down; what must go up is a fact, or a callable that somebody was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sources import PACKAGE, parsed

# Fewer is better: a machine of a floor below is given as it is, and can be followed by its import.
GIVEN_MAX = 190
NAMES_OF_CALLABLES = {"Action", "Find", "Send", "Take"}


def test_no_more_callables_are_given_to_the_machines_of_the_core() -> None:
    given = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in sorted((PACKAGE / "protocol").rglob("*.py"))
        for name in callables_given(parsed(path))
    ]
    assert len(given) <= GIVEN_MAX, "\n".join(given)


def callables_given(module: ast.Module) -> Iterator[str]:
    """Arguments and fields of classes that are to be called."""
    for owner in [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]:
        for part in owner.body:
            if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                for argument in (*part.args.args, *part.args.kwonlyargs):
                    if is_callable(argument.annotation):
                        yield f"{owner.name}({argument.arg})"
            elif isinstance(part, ast.AnnAssign) and is_callable(part.annotation):
                yield f"{owner.name}.{ast.unparse(part.target)}"


def is_callable(annotation: ast.expr | None) -> bool:
    text = ast.unparse(annotation) if annotation is not None else ""
    return "Callable" in text or text in NAMES_OF_CALLABLES
