"""plan create, show and diff: from telemetry to plans that people and programs read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_telemetry import record_hours
from typer.testing import CliRunner, Result

from meshwright.cli.main import app
from meshwright.files.overlays import write_overlay
from meshwright.files.plans import read_plan

pytestmark = pytest.mark.usefixtures("spark")


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plans") / "telemetry"
    record_hours(folder, 0, 5)
    return folder


def create(trace: Path, out: Path, *more: str | Path) -> dict[str, object]:
    result = call("plan", "create", trace, "--out", out, "--json", *more)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


@pytest.fixture(scope="module")
def gm(trace: Path) -> Path:
    """A plan of what is best for cost by GM, whatever that is worth."""
    out = trace.with_name("gm.json")
    create(trace, out, "--design", "gm", "--objective", "cost", "--force")
    return out


@pytest.fixture(scope="module")
def gm2(trace: Path) -> Path:
    out = trace.with_name("gm2.json")
    document = create(trace, out, "--design", "gm2", "--objective", "cost", "--force")
    assert document["steps"] == len(read_plan(out).steps)
    return out


def test_a_plan_goes_on_from_where_another_leads(gm2: Path, trace: Path, tmp_path: Path) -> None:
    plan = read_plan(gm2)
    assert len(plan.target.brokers) == 6
    write_overlay(plan.target, tmp_path / "overlay.json")
    second = tmp_path / "second.json"
    # All other designs, without Spark: test_network_plans.
    more = ("--design", "dynatops", "--objective", "cost", "--force")
    create(trace, second, "--from", tmp_path / "overlay.json", *more)
    assert read_plan(second).source == plan.target
    assert read_plan(second).target.design == "chord"  # which dynatops arranges


def test_clients_move_if_asked(trace: Path, tmp_path: Path) -> None:
    create(trace, tmp_path / "plan.json", "--design", "chord", "--placement", "similarity")
    assert read_plan(tmp_path / "plan.json").client_moves()


def test_a_plan_at_a_loss_is_not_written_unless_it_is_forced(
    gm: Path, trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plan.json"
    words = ("plan", "create", trace, "--design", "mesh", "--from", gm, "--out", out)
    dear = ("--objective", "cost", "--link-weight", "50")
    refusal = call(*words, *dear)
    assert refusal.exit_code == 1
    told = " ".join(refusal.stdout.split())
    assert "mostly for links: the plan is at a loss. No plan was written; --force writes" in told
    document = json.loads(call(*words, *dear, "--json").stdout)
    assert (document["plan"], document["is_at_a_loss"]) == (None, True)
    assert document["saved"] < 0.0
    assert not out.exists()
    forced = call(*words, *dear, "--force", "--json")
    assert forced.exit_code == 0
    assert json.loads(forced.stdout)["net_benefit"] == document["saved"]
    assert read_plan(out).is_at_a_loss


def test_where_nothing_is_better_than_now_nobody_moves(
    gm: Path, trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plan.json"
    dear = ("--from", gm, "--placement", "similarity", "--reconfiguration-weight", "1e6")
    document = create(trace, out, "--design", "gm2", *dear)
    assert str(document["summary"]).startswith("Nothing better than now")
    assert (document["steps"], document["saved"], document["moved"]) == (0, 0.0, 0)
    assert read_plan(out).client_moves() == ()


def test_people_are_shown_reasons_and_worth(trace: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    create(trace, plan, "--design", "gm", "--at", "2010-08-01T03:00:00")
    shown = call("plan", "show", plan)
    assert shown.exit_code == 0
    for word in (
        "is linked with",
        "parts of topics that were apart",
        "relays",
        "broker subscriptions",
        "No link stands: gm builds",
        "data ends",
    ):
        assert word in shown.stdout
    document = json.loads(call("plan", "show", plan, "--json").stdout)
    assert document["plan"] == json.loads(plan.read_text())


def test_brokers_may_come_and_go(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    create(trace, out, "--design", "gm2", "--add-broker", "new", "--remove-broker", "b0")
    plan = read_plan(out)
    assert set(plan.target.brokers) == {"new", *plan.source.brokers} - {"b0"}
    moves = plan.client_moves()
    assert moves
    assert {move.source for move in moves} == {"b0"}


def test_a_goal_that_no_plan_keeps_is_named(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    words = ("plan", "create", trace, "--out", out, "--design", "gm", "--goal", "clients_max=1")
    refusal = call(*words)
    assert refusal.exit_code == 2
    assert "the goal clients_max = 1 is broken at broker 'b" in refusal.stderr
    assert not out.exists()


def test_plans_are_compared(gm: Path, gm2: Path) -> None:
    same = json.loads(call("plan", "diff", gm, gm, "--json").stdout)
    assert same["same"]
    shown = call("plan", "diff", gm, gm2).stdout
    assert "+ design gm2" in shown
    assert "+ link " in shown
    alike = call("plan", "diff", gm, gm).stdout
    assert "Both plans lead to the same network." in alike
    assert f"- {gm}" in alike
    assert f"+ {gm}" in alike


def test_bad_input_is_one_sentence(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    words = ("plan", "create", trace, "--design", "gm", "--out", out)
    for more, fault in (
        (("--at", "yesterday"), "'yesterday' is no time"),
        (("--at", "2009-01-01"), "nothing has happened by the time"),
        (("--slot", "long"), "'long' is no duration"),
        (("--slot", "2h", "--t-free", "1h"), "do not fit"),
        (("--placement", "location"), "needs the places of clients and brokers"),
        (("--k", "9"), "k = 9"),
    ):
        result = call(*words, *more)
        assert result.exit_code == 2, result.output
        assert fault in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert not out.exists()
