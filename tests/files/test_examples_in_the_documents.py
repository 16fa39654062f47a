"""The examples of docs/FILES.md are what the program reads."""

from __future__ import annotations

import re
from pathlib import Path

from meshwright.files.histories import read_history
from meshwright.files.overlays import read_overlay
from meshwright.files.plans import read_plan
from meshwright.files.snapshots import read_snapshot
from meshwright.files.traffic import read_clients, read_traffic

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "FILES.md"
EXAMPLE = re.compile(
    r"^### ([a-z]+\.(?:csv|jsonl?)).*?^```(?:csv|jsonl?)\n(.*?)^```", re.MULTILINE | re.DOTALL
)


def test_every_example_is_read(tmp_path: Path) -> None:
    examples = dict(EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8")))
    for name, text in examples.items():
        (tmp_path / name).write_text(text)
    snapshot = read_snapshot(tmp_path / "interests.csv", tmp_path / "rates.csv")
    assert snapshot.publications.tolist() == [12.0, 340.5]
    names = {f"b{index:02d}" for index in range(5)}
    assert len(read_traffic(tmp_path / "traffic.csv", names)) == 2
    assert len(read_clients(tmp_path / "clients.csv", names)) == 2
    assert read_overlay(tmp_path / "overlay.json").params == {"k": 2}
    assert len(read_history(tmp_path / "history.jsonl").deliveries) == 1
    assert read_plan(tmp_path / "plan.json").moved == 2
