"""The demonstration, small: everything is real but for its size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import answered, call, refused

from meshwright.errors import ProblemError
from meshwright.lab.demo import SETTINGS_NAME, DemoFolder, refuse_nothing
from meshwright.model.plan import Plan, PlanCost
from meshwright.planning.founding import founding_overlay


def test_a_network_is_measured_planned_changed_and_measured_again(
    spark: object, tmp_path: Path
) -> None:
    del spark  # one that runs already is used by every command
    words = ("demo", "--brokers", 6, "--clients", 120, "--seconds", 5, "--rate", 60)
    out = tmp_path / "demo"
    result = call(*words, "--out", out, "--keep", "--json")
    assert result.exit_code == 0, result.output
    try:
        is_left_to_a_manager(json.loads(result.stdout), out)
    finally:
        stopped = answered("down", "--data", out / "network")
    assert len(stopped["stopped"]) == 6
    assert stopped["manager_stopped"]
    acts = ("Act 1", "relays a second", "Act 2", "swap", "Act 3", "was killed and came back")
    assert all(act in result.stderr for act in acts)
    document = json.loads(result.stdout)
    assert document["acknowledged"] > 100
    assert document["delivered"] > 0
    found = {name: document[name] for name in ("lost", "duplicated", "reordered", "unexpected")}
    assert not any(found.values())
    assert document["cost_measured"] < document["cost_before"]
    # The closed form's own figure for today: what seconds of traffic measure differs from it.
    today = re.search(r"for a delivery from ([\d.]+) to", result.stderr)
    assert today is not None
    assert document["cost_predicted"] < float(today[1])
    assert document["moved_clients"] > 0
    page = Path(document["report"]).read_text()
    assert page.count("<svg") == 1
    assert "messages between brokers for a delivery" in page
    shown = {row["what"]: row for row in document["rows"]}
    told = shown["messages between brokers for a delivery"]
    assert f"which is to take them to {told['predicted']}" in result.stderr
    assert f"from {told['before']} to {told['measured']} messages for a delivery" in page
    fullest = shown["clients at the fullest broker"]
    # Placement bounds subscriptions, not clients.
    assert 120 / 6 <= int(fullest["predicted"]) < 120
    again = answered("check", tmp_path / "demo" / "history.jsonl")["totals"]
    assert again["delivered"] == document["delivered"]


def is_left_to_a_manager(document: dict[str, Any], out: Path) -> None:
    """Who asked for it to be kept finds the plan at a manager, with what it was worth."""
    assert "stop them with meshwright down" in refused("demo", "--out", out)
    url, _, _ = document["dashboard"].partition("/dashboard?key=")
    at = ("--manager", url, "--token-file", out / "network" / "manager" / "token")
    (plan,) = answered("plan", "list", *at)["plans"]
    assert plan["state"] == "applied"
    assert plan["measured"] == {
        "before": document["cost_before"],
        "after": document["cost_measured"],
    }
    undone = answered("plan", "undo", plan["id"], "--yes", *at)["outcome"]
    assert undone["end"] == "done"


def test_a_plan_that_changes_nothing_is_told_and_not_given_to_brokers() -> None:
    today = founding_overlay("chord", ("b0", "b1"))
    cost = PlanCost(
        before=1.0, after=1.0, overhead_external_before=0.0, overhead_external_after=0.0,
        delay_before=1.0, delay_after=1.0,
    )  # fmt: skip
    nothing = Plan(
        source=today, target=today, steps=(), cost=cost, reconfiguration_cost=0.0,
        net_benefit=0.0, moved=0, summary="",
    )  # fmt: skip
    with pytest.raises(ProblemError, match="leave everything as it is"):
        refuse_nothing(nothing)


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
