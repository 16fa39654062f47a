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

README = Path(__file__).resolve().parents[2] / "README.md"
DOCUMENT = README.parent / "docs" / "FILES.md"
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


def is_of(words: str, shown: str) -> bool:
    """Whether a command is shown, perhaps with its arguments."""
    return f"{shown} ".startswith(f"{words} ")


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


def test_the_readme_names_every_command_and_those_without_json() -> None:
    text = README.read_text(encoding="utf-8").partition("## All commands")[2].partition("\n## ")[0]
    named = set()
    for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        named |= {first, *(f"{first.rpartition(' ')[0]} {other}".strip() for other in others)}
    options = options_of_commands()
    assert not [words for words in options if not any(is_of(words, one) for one in named)]
    sentence = text.partition("All but ")[2].partition(", which")[0]
    assert set(re.findall(r"`([^`]+)`", sentence)) == {
        words for words, found in options.items() if "--json" not in found
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
