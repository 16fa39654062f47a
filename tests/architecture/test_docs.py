"""What the documents say is true: commands run, modules and files named exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from sources import PACKAGE, ROOT, short

from book.contents import documents

DOCUMENTS = tuple(documents())
CONSOLE_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"`((?:\w+/)+\w+\.py)`")
PLACES = (ROOT, PACKAGE, PACKAGE / "protocol")
FLOORS = r"^## The floors of {}$.*?^```\n(.*?)^```"
WITH_FLOORS = {
    "protocol": "the core",
    "live": "live",
    "sim": "sim",
    "cli": "cli",
    "manager": "the manager",
    "pipeline": "the pipeline",
}
DOTTED_NAME = re.compile(r"`(meshwright(?:\.\w+)+)`")
MAKE_TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)


def commands(document: Path) -> list[str]:
    shown = "\n".join(CONSOLE_BLOCK.findall(document.read_text(encoding="utf-8")))
    lines = shown.replace("\\\n", "").splitlines()
    return [line[2:] for line in lines if line.startswith("$ ")]


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if commands(d)], ids=short)
def test_commands_shown_in_a_document_run(document: Path, tmp_path: Path) -> None:
    targets = set(MAKE_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands(document):
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            assert set(words[1:]) <= targets, command
        elif words[0] == "meshwright":
            environment = {**os.environ, "PATH": path}
            run = subprocess.run(
                words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=short)
def test_modules_named_in_a_document_exist(document: Path) -> None:
    names = DOTTED_NAME.findall(document.read_text(encoding="utf-8"))
    assert not [name for name in names if not exists(name)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=short)
def test_files_named_in_a_document_exist(document: Path) -> None:
    names = FILE_NAME.findall(document.read_text(encoding="utf-8"))
    assert not [name for name in names if not any((place / name).exists() for place in PLACES)]


@pytest.mark.parametrize("room", WITH_FLOORS)
def test_the_floors_are_drawn_as_they_are_checked(room: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (floors,) = [
        contract["layers"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == [f"meshwright.{room}"]
    ]
    drawing = re.compile(FLOORS.format(WITH_FLOORS[room]), re.MULTILINE | re.DOTALL)
    (drawn,) = drawing.findall((ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert [re.split(r" {2,}", line)[0] for line in drawn.splitlines()] == floors


def test_each_decision_has_a_number_of_its_own_which_its_title_repeats() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    numbers = [int(decision.name[:4]) for decision in decisions]
    titles = [decision.read_text(encoding="utf-8").split(".", 1)[0] for decision in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    assert titles == [f"# {number}" for number in numbers]


def exists(name: str) -> bool:
    """True for a module, or for an attribute of one."""
    try:
        if find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    module, _, attribute = name.rpartition(".")
    return find_spec(module) is not None and hasattr(import_module(module), attribute)
