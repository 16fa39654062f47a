"""Sizes and names that keep the house readable; there is no list of exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from sources import PACKAGE, ROOT, parsed, python_files, short

COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 60
POSITIONAL_MAX = 5
MODULE_DOCSTRING_LINES_MAX = 10
FORBIDDEN_NAMES = {
    "utils", "util", "helpers", "helper", "common", "misc", "base", "core", "data", "info",
}  # fmt: skip
EVERYWHERE = ("src", "tests", "benchmarks", "book", "release")
DOCUMENTS = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.toml"))


def test_no_line_of_a_program_or_document_is_wider_than_a_window() -> None:
    assert not [
        f"{short(path)}:{number}: {len(line)} columns"
        for path in (*python_files(*EVERYWHERE), *sorted(DOCUMENTS))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > COLUMNS_MAX
    ]


def test_no_two_modules_of_tests_share_a_name() -> None:
    names = [path.name for path in python_files("tests") if path.name != "conftest.py"]
    assert not {name for name in names if names.count(name) > 1}


def test_no_function_outgrows_its_limit() -> None:
    assert not [
        f"{short(path)}:{function.lineno} {function.name}: {size} lines"
        for path in python_files(*EVERYWHERE)
        for function in functions(path)
        if (size := body_lines(function)) > FUNCTION_LINES_MAX
    ]


def test_no_function_takes_too_many_positional_arguments() -> None:
    assert not [
        f"{short(path)}:{function.lineno} {function.name}: {count} positional arguments"
        for path in python_files("src")
        for function in functions(path)
        if (count := positional_count(function)) > POSITIONAL_MAX
    ]


def test_module_docstrings_exist_and_are_short() -> None:
    sizes = {
        path: len((ast.get_docstring(parsed(path)) or "").splitlines())
        for path in python_files("src", "benchmarks", "book", "release")
    }
    assert not [
        short(path) for path, size in sizes.items() if not 1 <= size <= MODULE_DOCSTRING_LINES_MAX
    ]


def test_names_say_what_things_are() -> None:
    modules = [short(path) for path in PACKAGE.rglob("*") if path.stem.lower() in FORBIDDEN_NAMES]
    classes = [
        f"{short(path)}:{node.lineno} {node.name}"
        for path in python_files("src")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and node.name.lower() in FORBIDDEN_NAMES
    ]
    assert not modules + classes


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return 0
    return (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1


def positional_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len([name for name in names if name not in {"self", "cls"}])
