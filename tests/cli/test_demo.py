"""The demonstration, small: everything is real but for its size."""

from __future__ import annotations

import json
from pathlib import Path

from commands import answered, call, refused

from meshwright.lab.demo import SETTINGS_NAME, DemoFolder


def test_live_brokers_lose_nothing_and_their_telemetry_is_compared(
    spark: object, tmp_path: Path
) -> None:
    del spark  # one that runs already is used by every command
    words = ("demo", "--brokers", 3, "--clients", 12, "--seconds", 3, "--rate", 20)
    chosen = ("--designs", "chord,gm", "--placement", "similarity")
    result = call(*words, *chosen, "--out", tmp_path / "demo", "--json")
    assert result.exit_code == 0, result.output
    stages = ("Generated", "Started", "12 clients did", "Compiled", "Compared")
    assert all(stage in result.stderr for stage in stages)
    document = json.loads(result.stdout)
    assert document["clients"] == 12
    assert document["attempted"] == document["acknowledged"] > 0
    assert document["delivered"] > 0
    found = {name: document[name] for name in ("lost", "duplicated", "reordered", "unexpected")}
    assert not any(found.values())
    measured, closed = document["measured"], document["closed_form"]
    assert measured["messages_per_delivery"] > 0
    assert closed["messages_per_delivery"] > 0
    assert {line["design"] for line in document["comparison"]} == {"chord", "gm"}
    assert Path(document["files"]["report"]).exists()
    again = answered("check", tmp_path / "demo" / "history.jsonl")["totals"]
    assert again["delivered"] == document["delivered"]


def test_what_a_stopped_demonstration_left_is_not_in_the_way(tmp_path: Path) -> None:
    folder = DemoFolder(tmp_path)
    for _ in range(2):
        folder.prepare()
        (folder.network / SETTINGS_NAME).touch()
    folder.prepare()
    assert not list(folder.network.iterdir())


def test_a_folder_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "network").mkdir()
    (tmp_path / "network" / "mine").touch()
    sentence = refused("demo", "--out", tmp_path)
    assert "not of a demonstration" in sentence
