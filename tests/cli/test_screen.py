"""What people see in a window of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import call, small_network
from rich.console import Console
from typer.main import get_command

from meshwright.cli.console.screen import plain_table
from meshwright.cli.main import app
from meshwright.model.wording import amount, amounts, counted

COLUMNS = 80


def every_command() -> Iterator[list[str]]:
    """The words of each command, groups too."""
    waiting = [([], get_command(app))]
    while waiting:
        words, command = waiting.pop()
        yield words
        for name, inner in getattr(command, "commands", {}).items():
            waiting.append(([*words, name], inner))


@pytest.mark.parametrize("words", list(every_command()), ids=" ".join)
def test_help_fits_the_window_and_says_nothing_of_types_of_flags(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    shown = call(*words, "--help").stdout
    assert max(map(len, shown.splitlines())) <= COLUMNS
    assert "<bool>" not in shown


def test_help_keeps_what_stands_in_brackets() -> None:
    assert "JSON of name: [peer address, clients']" in " ".join(
        call("broker", "--help").stdout.split()
    )


def test_completion_can_be_installed() -> None:
    assert "--install-completion" in call("--help").stdout


def test_a_table_that_is_too_wide_goes_on_below_with_every_figure() -> None:
    columns = {"placement": False, "design": False} | {
        f"messages of kind {number}": True for number in range(20)
    }
    rows = [["static", name, *(f"{100_000 * at:,}" for at in range(20))] for name in ("gm", "tree")]
    console = Console(width=COLUMNS)
    with console.capture() as shown:
        console.print(plain_table(columns, rows))
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= COLUMNS
    words = shown.get().split()
    assert all(figure in words for row in rows for figure in row)
    assert words.count("tree") > 1


def test_tables_of_commands_fit_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    interests, rates = small_network(tmp_path)
    words = ("overlay", "compare", "--interests", interests, "--rates", rates, "--designs", "tree")
    lines = call(*words).stdout.splitlines()
    ruled = [at for at, line in enumerate(lines) if "──" in line]
    assert ruled
    for at in ruled:
        assert max(map(len, lines[at - 2 : at + 2])) <= COLUMNS


def test_one_is_not_many() -> None:
    assert (counted(1, "session"), counted(0, "session")) == ("1 session", "0 sessions")
    assert counted(1_200, "session") == "1,200 sessions"


def test_amounts_have_as_many_digits_as_say_something() -> None:
    assert [amount(one) for one in (72.5754, 0.00123, 1_234.5)] == ["72.6", "0.00123", "1,234"]
    assert amounts(3.1671, 3.1672) == ("3.1671", "3.1672")
    assert amounts(1_613_099.0, 1_035_271.0) == ("1,613,099", "1,035,271")
    assert amounts(2.0, 2.0) == ("2", "2")
