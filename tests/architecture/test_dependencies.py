"""Every import is declared, and everything declared is used."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pyarrow as pa
import pytest
from sources import ROOT, imported_packages, parsed, python_files, short

# Declared for their command or because another library calls them, never imported by us.
TOOLS = {
    "amqtt", "furo", "import-linter", "mypy", "myst-parser", "pip-tools", "pytest-xdist", "ruff",
    "scipy-stubs", "setuptools", "wheel",
}  # fmt: skip
FOR_DEVELOPERS = ("tests", "benchmarks", "book", "release")
OURS = {"meshwright", "benchmarks", "book", "release", "tests"}


def declared() -> tuple[set[str], set[str]]:
    """Distributions that run the program, and those for developers, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    runtime, development = (
        {plain(re.split(r"[\[<>=!~; ]", line)[0]) for line in lines}
        for lines in (project["dependencies"], project["optional-dependencies"]["development"])
    )
    return runtime, development


def imported(*folders: str) -> set[str]:
    """Distributions of what the files of some folders import, but for their own modules."""
    distributions = packages_distributions()
    files = python_files(*folders)
    own = OURS | {path.stem for path in files} | {path.parent.name for path in files}
    names = set().union(*(imported_packages(parsed(path)) for path in files))
    return {
        plain(distributions[name][0])
        for name in names - own - set(sys.stdlib_module_names)
        if name in distributions
    }


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_parts_of_arrow_are_imported_where_they_are_used() -> None:
    """pyarrow has some parts as attributes only once somebody has imported those."""
    asked = "import pyarrow; print(*dir(pyarrow))"
    at_once = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True)
    has = set(at_once.stdout.decode().split())
    parts = {one.name for one in pkgutil.iter_modules(pa.__path__)} - has
    assert not [
        f"{short(path)}:{node.lineno} pa.{node.attr}"
        for path in python_files("src", *FOR_DEVELOPERS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "pa"
        and node.attr in parts
    ]


def test_what_the_program_imports_comes_with_it() -> None:
    runtime, _ = declared()
    assert imported("src") - runtime - {"py4j"} == set()  # Spark's own half of it


def test_what_tests_and_benchmarks_import_is_declared() -> None:
    runtime, development = declared()
    assert imported(*FOR_DEVELOPERS) - runtime - development - {"py4j"} == set()


@pytest.mark.parametrize("place", ["runtime", "development"])
def test_what_is_declared_is_used(place: str) -> None:
    runtime, development = declared()
    if place == "runtime":
        assert runtime - imported("src") == set()
    else:
        assert development - imported(*FOR_DEVELOPERS) - TOOLS == set()
