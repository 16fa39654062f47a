"""meshwright plan create --method churn, of an overlay and who wants what."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.files.overlays import write_overlay
from meshwright.files.plans import read_plan
from meshwright.overlays.growth import with_broker
from meshwright.planning.founding import founding_overlay

NAMES = tuple(f"b{number}" for number in range(8))


@pytest.fixture
def known(tmp_path: Path) -> tuple[str, ...]:
    """A newcomer that is linked with everybody, and shares topics with some."""
    overlay, wanted = tmp_path / "today.json", tmp_path / "wanted.csv"
    write_overlay(with_broker(founding_overlay("gm2", NAMES), "new"), overlay)
    rows = [f"{name},t{number % 3}\n" for number, name in enumerate(NAMES)]
    wanted.write_text("".join(("broker,topic\n", *rows, "new,t0\n", "new,t1\n")))
    return (
        "--from",
        str(overlay),
        "--interests",
        str(wanted),
        "--out",
        str(tmp_path / "plan.json"),
    )


def call(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", "create", "--method", "churn", *words])
    return result.exit_code, result.output


def test_a_newcomer_is_placed_by_hand(known: tuple[str, ...], tmp_path: Path) -> None:
    code, output = call(*known, "--add-broker", "new", "--goal", "clients_max=5")
    assert code == 0, output
    assert "new has 4 of 8 links left. Links: 24 before, 20 after" in output
    plan = read_plan(tmp_path / "plan.json")
    assert [step.action for step in plan.steps] == 4 * ["remove_link"]
    assert all("new" in step.brokers for step in plan.steps)


def test_what_does_not_go_together_is_refused(known: tuple[str, ...]) -> None:
    for words, why in (
        (known[:2], "or from --from FILE with --interests FILE; give one or the other"),
        ((*known, "--data", "somewhere"), "give one or the other"),
        ((*known, "--design", "chord"), "leave out the method churn"),
        ((*known, "--remove-broker", "x"), "no broker 'x' to remove"),
    ):
        code, output = call(*words)
        assert code == 2, output
        assert why in " ".join(output.split())
