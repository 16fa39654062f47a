from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from commands import call

from meshwright.files.overlays import read_overlay
from meshwright.files.snapshots import read_snapshot
from meshwright.model.designs import candidates

Told = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tours")


@pytest.fixture(scope="module")
def told(folder: Path) -> Told:
    """What a whole tour shows, and the document of one that only draws."""
    shown = call("overlay", "tour", "--out", folder / "new" / "whole")
    drawn = call("overlay", "tour", "--out", folder / "drawn", "--pictures-only", "--json")
    assert (shown.exit_code, drawn.exit_code) == (0, 0)
    return shown.stdout, msgspec.json.decode(drawn.stdout)


def test_the_tour_plans_every_design_and_draws_before_and_after(told: Told, folder: Path) -> None:
    shown, document = told
    assert {row["name"] for row in document["designs"]} == set(candidates())
    assert document["recommended"] is not None
    assert all(f"\n {name} " in shown for name in candidates())
    whole = folder / "new" / "whole"
    snapshot = read_snapshot(whole / "interests.csv", whole / "rates.csv")
    for name in candidates():
        assert read_overlay(whole / "overlays" / f"{name}.json").brokers == snapshot.brokers


def test_the_tour_is_replayable_and_can_be_drawn_alone(told: Told, folder: Path) -> None:
    del told
    drawn = {path.name: path.read_bytes() for path in (folder / "drawn").iterdir()}
    assert sorted(drawn) == ["before-after.png", "before-after.svg"]
    assert drawn["before-after.png"].startswith(b"\x89PNG")
    assert drawn["before-after.svg"].startswith(b"<?xml")
    for name, content in drawn.items():
        assert (folder / "new" / "whole" / name).read_bytes() == content


def test_the_next_steps_it_names_are_commands_that_work(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown, _ = told
    steps = [line.split()[1:] for line in shown.splitlines() if line.startswith("  meshwright ")]
    assert len(steps) == 3
    for step in steps:
        assert call(*step).exit_code == 0
