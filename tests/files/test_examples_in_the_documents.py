"""The examples of docs/FILES.md are what the program reads."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main
from typer.core import TyperGroup

from meshwright.cli.main import app
from meshwright.files.histories import read_history
from meshwright.files.overlays import read_overlay
from meshwright.files.plans import read_plan
from meshwright.files.snapshots import read_snapshot
from meshwright.files.traffic import read_clients, read_traffic

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "FILES.md"
EXAMPLE = re.compile(
    r"^### ([a-z]+\.(?:csv|jsonl?)).*?^```(?:csv|jsonl?)\n(.*?)^```", re.MULTILINE | re.DOTALL
)

ANSWER = re.compile(r"^- (`[a-z ]+`(?:, `[a-z ]+`)*): (.*(?:\n  .*)*)$", re.MULTILINE)
SEED_IN_A_FILE = {"pipeline run"}


def options_of_commands() -> dict[str, set[str]]:
    """The options of every command, by its words."""
    found = {}
    waiting = [("", typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        if isinstance(command, TyperGroup):
            waiting += [(f"{words} {name}".strip(), one) for name, one in command.commands.items()]
        else:
            found[words] = {option for one in command.params for option in one.opts}
    return found


def test_every_answer_in_json_is_described_and_has_a_seed_unless_it_is_said() -> None:
    text = DOCUMENT.read_text(encoding="utf-8").partition("## Answers of the command line")[2]
    described = {
        name.strip("`"): "no `seed`" not in fields
        for names, fields in ANSWER.findall(text)
        for name in names.split(", ")
    }
    assert described == {
        words: "--seed" in options or words in SEED_IN_A_FILE
        for words, options in options_of_commands().items()
        if "--json" in options
    }


def test_every_example_is_read(tmp_path: Path) -> None:
    examples = dict(EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8")))
    examples["history.jsonl"] = examples["history.jsonl"].replace("\n  ", "")
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
