"""Brokers that are killed under load keep what they acknowledged."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import answered


def test_nothing_acknowledged_is_lost_doubled_or_reordered_when_brokers_are_killed(
    tmp_path: Path,
) -> None:
    document = answered(
        "torture", "--design", "gm2", "-n", "3", "--clients", "6", "--duration", "1",
        "--kills", "2", "--plans", "2", "--out", tmp_path,
    )  # fmt: skip
    counts = document["designs"]["gm2"]
    assert document["violations"] == []
    assert counts["kills"] + counts["stalls"] >= 2
    assert counts["acknowledged"] > 0
    assert counts["connects"] > 6
    assert counts["plans"] >= 1
    again = answered("check", tmp_path / "gm2-0" / "history.jsonl")["totals"]
    assert again == {name: counts[name] for name in again}
