"""What a manager asks of the command that plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meshwright.files.plans import write_plan
from meshwright.lab.workloads import generate_snapshot
from meshwright.manager.planner import PlanRequest, SparkPlanner
from meshwright.manager.settings import PlanningSettings
from meshwright.model.goals import Goals
from meshwright.planning.changes.network import PlanWish, plan_network

SNAPSHOT = generate_snapshot(4, 4, 2, "unif", seed=0)


def test_goals_and_what_ifs_go_to_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    plan = plan_network(SNAPSHOT, PlanWish("gm"))

    def run(_: SparkPlanner, command: list[str]) -> dict[str, Any]:
        commands.append(command)
        write_plan(plan, Path(command[command.index("--out") + 1]))
        return {}

    monkeypatch.setattr(SparkPlanner, "_run", run)
    goals = Goals(k_min=2, degree_max=9, prefer=("delay", "cost"))
    planner = SparkPlanner(tmp_path, PlanningSettings(), goals)
    request = PlanRequest(degree_max=5, add_brokers=("n",), remove_brokers=("b0", "b1"))
    assert planner.make(tmp_path / "trace", plan.source, request, 60.0).plan == plan
    words = " ".join(commands[0])
    for asked in (
        "--goal k_min=2 --goal degree_max=5 --goal prefer=delay,cost",
        "--add-broker n --remove-broker b0 --remove-broker b1",
    ):
        assert asked in words
