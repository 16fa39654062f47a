"""The trace commands as tests call them, and the rows that they write."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from meshwright.cli.main import app


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["trace", *map(str, words)], catch_exceptions=False)


def answered(*words: str | Path) -> dict[str, object]:
    result = call(*words, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def refused(*words: str | Path) -> str:
    result = call(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def rows(trace: Path, table: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in pq.read_table(trace / table).to_pylist()]
