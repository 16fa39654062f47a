"""What `meshwright torture` refuses before it makes or removes anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import refused


@pytest.mark.parametrize("designs", ["nothing", "chord,nothing", "../mine", ","])
def test_a_design_that_there_is_not_is_refused_and_no_folder_is_touched(
    tmp_path: Path, designs: str
) -> None:
    mine = tmp_path / "mine-0" / "precious"
    mine.parent.mkdir()
    mine.touch()
    out = tmp_path / "out"
    out.mkdir()
    sentence = refused("torture", "--designs", designs, "--duration", "0.5", "--out", out)
    assert "design" in sentence
    assert mine.exists()
    assert not list(out.iterdir())
