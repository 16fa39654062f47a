"""The command as tests call it, and the small files they give it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from meshwright.cli.main import app

INTERESTS = """broker,topic
b0,t0
b0,t1
b1,t0
b1,t1
b2,t0
b2,t2
b3,t0
b3,t2
"""
RATES = """topic,publications
t0,10
t1,20
t2,5.5
"""
TREE = """{"design": "tree", "brokers": ["b0", "b1", "b2", "b3"],
"links": [["b0", "b1"],
["b1", "b2"],
["b2", "b3"]]}
"""
TRAFFIC = """messages,members
1000,b0;b3
10,b1;b2
"""


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def answered(*words: str | Path, exit_code: int = 0) -> dict[str, Any]:
    """The JSON document that a command prints, and nothing else."""
    result = call(*words, "--json")
    assert result.exit_code == exit_code, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    assert " ".join(map(str, words)).startswith(document["command"])
    return document


def refused(*words: str | Path) -> str:
    """The one sentence of a command that exits with 2."""
    result = call(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert lines[0].endswith(".")
    return lines[0]


def small_network(folder: Path) -> tuple[Path, Path]:
    """interests.csv and rates.csv of four brokers."""
    (folder / "interests.csv").write_text(INTERESTS)
    (folder / "rates.csv").write_text(RATES)
    return folder / "interests.csv", folder / "rates.csv"


def small_tree(folder: Path) -> tuple[Path, Path]:
    """tree.json of the same four brokers, and its traffic.csv."""
    (folder / "tree.json").write_text(TREE)
    (folder / "traffic.csv").write_text(TRAFFIC)
    return folder / "tree.json", folder / "traffic.csv"
