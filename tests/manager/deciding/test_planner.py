"""What a manager asks of the command that plans."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from meshwright.errors import OperatorError
from meshwright.manager.deciding.planner import NetworkView, PlanRequest, SparkPlanner
from meshwright.manager.settings import PlanningSettings
from meshwright.model.goals import Goals
from meshwright.planning.founding import founding_overlay


def test_goals_and_what_ifs_go_to_the_command(tmp_path: Path) -> None:
    goals = Goals(k_min=2, degree_max=9, prefer=("delay", "cost"))
    planner = SparkPlanner(tmp_path, PlanningSettings(), goals)
    request = PlanRequest(
        goals=Goals(clients_max=40), degree_max=5, add_brokers=("n",), remove_brokers=("b0", "b1")
    )
    source = founding_overlay("gm", ("b0", "b1", "b2", "b3"))
    words = " ".join(planner.options(source, request))
    for asked in (
        "--design gm",
        "--goal k_min=2 --goal clients_max=40 --goal degree_max=5 --goal prefer=delay,cost",
        "--add-broker n --remove-broker b0 --remove-broker b1",
    ):
        assert asked in words


SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_a_planning_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    planner = SparkPlanner(tmp_path, PlanningSettings(limit_s=0.1), Goals())
    with pytest.raises(OperatorError, match=r"not made in planning\.limit_s, 0\.1 s"):
        planner._run(SLEEPS)


def test_a_planning_that_begins_as_the_manager_ends_is_ended(tmp_path: Path) -> None:
    planner = SparkPlanner(tmp_path, PlanningSettings(), Goals())
    planner.stop()
    with pytest.raises(OperatorError, match="ended by signal 15"):
        planner._run(SLEEPS)


def test_the_command_is_told_who_cannot_be_sent_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planner = SparkPlanner(tmp_path, PlanningSettings(), Goals())
    told: list[bytes] = []

    def run(command: list[str]) -> None:
        told.append(Path(command[command.index("--staying") + 1]).read_bytes())
        raise OperatorError("no Spark here")

    monkeypatch.setattr(planner, "_run", run)
    source = founding_overlay("gm", ("b0", "b1"))
    view = NetworkView(
        trace=tmp_path, until_us=0, source=source, slot_s=1.0, staying=("a\nb", "old")
    )
    with pytest.raises(OperatorError):
        planner.make(view, PlanRequest())
    assert told == [b'["a\\nb","old"]']
