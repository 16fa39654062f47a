from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import answered, call

from meshwright.files.overlays import read_overlay
from meshwright.files.snapshots import read_snapshot
from meshwright.planning.recommendation import CANDIDATES


def test_the_demonstration_plans_every_design_and_draws_before_and_after(tmp_path: Path) -> None:
    document = answered("demo", "--out", tmp_path / "new" / "demo")
    assert [row["name"] for row in document["designs"]] == list(CANDIDATES)
    assert document["recommended"] is not None
    files = {kind: Path(path) for kind, path in document["files"].items()}
    snapshot = read_snapshot(files["interests"], files["rates"])
    for name in CANDIDATES:
        assert read_overlay(files["overlays"] / f"{name}.json").brokers == snapshot.brokers
    assert files["picture"].read_bytes().startswith(b"<?xml")
    assert files["bitmap"].read_bytes().startswith(b"\x89PNG")


def test_the_demonstration_is_replayable_but_for_the_time_it_takes(tmp_path: Path) -> None:
    shown, contents = [], []
    for folder in ("one", "two"):
        result = call("demo", "--out", tmp_path / folder)
        assert result.exit_code == 0
        shown.append(re.sub(r" +\d+\.\d\d ?$", "", result.stdout, flags=re.MULTILINE))
        contents.append(
            {
                path.relative_to(tmp_path / folder): path.read_bytes()
                for path in sorted((tmp_path / folder).rglob("*.*"))
            }
        )
    assert contents[0] == contents[1]
    assert shown[0].replace(str(tmp_path / "one"), "") == shown[1].replace(
        str(tmp_path / "two"), ""
    )


def test_the_demonstration_can_be_drawn_alone(tmp_path: Path) -> None:
    answered("demo", "--out", tmp_path, "--pictures-only")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "before-after.png",
        "before-after.svg",
    ]


def test_the_next_steps_it_names_are_commands_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = call("demo").stdout
    steps = [line.split()[1:] for line in shown.splitlines() if line.startswith("  meshwright ")]
    assert len(steps) == 3
    for step in steps:
        assert call(*step).exit_code == 0
