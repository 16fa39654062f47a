"""What a manager asks of the command that plans."""

from __future__ import annotations

from pathlib import Path

from meshwright.manager.planner import PlanRequest, SparkPlanner
from meshwright.manager.settings import PlanningSettings
from meshwright.model.goals import Goals
from meshwright.planning.founding import founding_overlay


def test_goals_and_what_ifs_go_to_the_command(tmp_path: Path) -> None:
    goals = Goals(k_min=2, degree_max=9, prefer=("delay", "cost"))
    planner = SparkPlanner(tmp_path, PlanningSettings(), goals)
    request = PlanRequest(degree_max=5, add_brokers=("n",), remove_brokers=("b0", "b1"))
    source = founding_overlay("gm", ("b0", "b1", "b2", "b3"))
    words = " ".join(planner.options(source, request))
    for asked in (
        "--design gm",
        "--goal k_min=2 --goal degree_max=5 --goal prefer=delay,cost",
        "--add-broker n --remove-broker b0 --remove-broker b1",
    ):
        assert asked in words
