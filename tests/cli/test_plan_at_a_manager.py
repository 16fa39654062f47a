"""plan create at a manager: which options go to it, and which are its own settings."""

from __future__ import annotations

from pathlib import Path

from commands import refused

from meshwright.cli.traces.plan_orders import _told
from meshwright.cli.traces.plan_saved import request_of
from meshwright.manager.deciding.planner import PlanRequest
from meshwright.manager.orders.execution import Outcome
from meshwright.model.goals import Goals


def test_what_ifs_and_goals_go_to_the_manager() -> None:
    given = {
        "manager": "http://127.0.0.1:8090", "as_json": True, "k": 2, "degree_max": 5,
        "goal": ["k_min=2", "clients_max=40"], "add_broker": ("n",), "remove_broker": ("b0", "b1"),
    }  # fmt: skip
    assert request_of(given, is_early=True) == PlanRequest(
        k=2,
        goals=Goals(k_min=2, clients_max=40, degree_max=5),
        add_brokers=("n",),
        remove_brokers=("b0", "b1"),
        early=True,
    )


def test_what_is_set_for_a_manager_is_not_asked_of_it(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    place = ("plan", "create", "--manager", "http://127.0.0.1:9", "--token-file", token)
    assert "A manager takes no 'seed' with a plan" in refused(*place, "--seed", "3")


def test_the_end_of_an_order_is_told_with_the_name_that_was_given() -> None:
    outcome = Outcome(
        action="undo", plan="140901c27823", epoch=7, leader="b0", end="done", detail="", brokers=3,
        elapsed_s=0.8,
    )  # fmt: skip
    assert _told("p1", outcome) == [
        "Plan p1 is undone at 3 brokers as epoch 7, led by b0, in 0.8 s."
    ]
