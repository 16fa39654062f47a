"""What `make` does besides calling our commands."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from sources import ROOT


@pytest.mark.parametrize(("command", "code"), [("sleep 1", 0), ("sleep 1; false", 2)])
def test_a_long_installation_shows_that_it_goes_on(tmp_path: Path, command: str, code: int) -> None:
    rules = tmp_path / "long.mk"
    rules.write_text(f"long:\n\t@$(call with_dots,{command})\n", encoding="utf-8")
    words = ["make", "-f", str(ROOT / "Makefile"), "-f", str(rules), "DOT_EVERY_S=0.2", "long"]
    alone = {name: word for name, word in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(
        words, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False
    )
    assert run.stdout.splitlines()[0].startswith("...")
    assert run.returncode == code


def test_what_takes_too_long_for_an_inner_loop_is_named_as_it_is() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    lists = dict(line.split(" := ", 1) for line in lines if " := " in line)
    folders, files = lists["QUICK"].split(), lists["TOO_LONG"].split()
    assert not [path for path in (*folders, *files) if not (ROOT / path).exists()]
    assert not [file for file in files if not file.startswith(tuple(folders))]
