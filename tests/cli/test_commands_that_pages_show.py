"""Commands that the dashboard shows where there is nothing yet are taken as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.dashboard.pages.compare import COMPARE
from meshwright.dashboard.pages.plans import CREATE


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (COMPARE, ".meshwright/manager/trace"),
        (CREATE.format(url="http://127.0.0.1:1"), ".meshwright/manager/token"),
    ],
)
def test_only_what_a_command_is_about_is_missing(
    command: str, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, shlex.split(command)[1:])
    assert found.exit_code == 2
    assert missing in found.stderr
