"""meshwright plan apply, abort and undo: a plan for brokers that run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import Data, Json
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, confirm, task_bar
from meshwright.cli.traces.plan_saved import (
    DEFAULT_DATA,
    ManagerUrl,
    PlanName,
    TokenFile,
    desk_at,
    named_plan,
)
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from meshwright.manager.orders.execution import Action, Outcome, Sight
    from meshwright.model.plan import Plan

Leader = Annotated[
    str | None,
    typer.Option(
        "--broker", metavar="NAME", show_default="the first by name", help="Who leads the change."
    ),
]
Sure = Annotated[bool, typer.Option("--yes", help="Do not ask whether to do it.")]


def apply(
    plan: PlanName,
    *,
    data: Data = DEFAULT_DATA,
    manager: ManagerUrl = None,
    token_file: TokenFile = None,
    broker: Leader = None,
    is_sure: Sure = False,
    as_json: Json = False,
) -> None:
    """Change the brokers that run to what a plan says, while messages keep flowing.

    A plan for another overlay than the one in force is refused with what has changed since. Exit
    code 1 if the plan was aborted: then nothing has changed.

    Example: meshwright plan apply plan.json

    Example: meshwright plan apply p7
    """
    _carry_out(
        _ordered("apply", plan, (data, manager, token_file), broker),
        is_sure=is_sure,
        as_json=as_json,
    )


def undo(
    plan: PlanName,
    *,
    data: Data = DEFAULT_DATA,
    manager: ManagerUrl = None,
    token_file: TokenFile = None,
    broker: Leader = None,
    is_sure: Sure = False,
    as_json: Json = False,
) -> None:
    """Take back a plan that is in force: the overlay before it, and clients to where they were.

    Example: meshwright plan undo plan.json

    Example: meshwright plan undo p7
    """
    _carry_out(
        _ordered("undo", plan, (data, manager, token_file), broker),
        is_sure=is_sure,
        as_json=as_json,
    )


def abort(
    *,
    data: Data = DEFAULT_DATA,
    manager: ManagerUrl = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """End the plan that is under way, unless it is decided: then undo it.

    Example: meshwright plan abort
    """
    from meshwright.manager.orders.saved_plans import UNDER_WAY

    desk = desk_at(data, manager, token_file)
    saved = [one.id for one in desk.entries() if one.state in UNDER_WAY]
    begun = desk.abort()
    answer(
        as_json,
        {"command": "plan abort", "plan": begun.plan, "epoch": begun.epoch},
        f"Plan {saved[0] if saved else begun.plan} is aborted; epoch {begun.epoch} stays in force.",
    )


@dataclass(frozen=True, slots=True)
class _Ordered:
    """An order about a plan, and how it is carried out; outcome None: it was given up."""

    action: Action
    name: str
    plan: Plan
    carry_out: Callable[[Callable[[Sight], None]], Outcome | None]


def _ordered(
    action: Action, name: str, place: tuple[Path, str | None, Path | None], leader: str | None
) -> _Ordered:
    """The order, refused where it can be seen before anybody is asked whether to give it."""
    from meshwright.errors import OperatorError
    from meshwright.files.plans import read_plan
    from meshwright.manager.network.running import RunningNetwork
    from meshwright.manager.orders.execution import carry_out, refuse_stale

    data, manager, _ = place
    file = named_plan(name)
    if file is None:
        desk = desk_at(*place)

        def saved(tell: Callable[[Sight], None]) -> Outcome | None:
            return desk.carry_out(action, name, leader=leader, tell=tell).outcome

        return _Ordered(action, name, desk.plan(name).whole(), saved)
    if manager is not None:
        raise OperatorError(f"{name} is a file; a manager knows plans by their ids, such as p1.")
    plan, network = read_plan(file), RunningNetwork(data)
    refuse_stale(network, action, plan)
    return _Ordered(
        action,
        name,
        plan,
        lambda tell: carry_out(network, action, plan, leader=leader, tell=tell),
    )


def _carry_out(order: _Ordered, *, is_sure: bool, as_json: bool) -> None:
    action, plan = order.action, order.plan
    if not plan.steps:
        document = {"command": f"plan {action}", "outcome": None}
        answer(as_json, document, f"{order.name} has no steps, so nothing was done. {plan.summary}")
        return
    if sys.stdin.isatty() and not is_sure:
        clients = counted(len(plan.client_moves()), "client")
        typer.echo(plan.summary, err=True)
        confirm(f"{action.capitalize()} it: {counted(plan.moved, 'broker')} and {clients} move?")
    with task_bar("Applying the plan" if action == "apply" else "Undoing the plan") as bar:

        def tell(sight: Sight) -> None:
            bar.say(sight.step or "begins")
            bar.count((sight.in_force, sight.brokers))

        outcome = order.carry_out(tell)
    assert outcome is not None
    answer(as_json, {"command": f"plan {action}", "outcome": outcome}, *_told(order.name, outcome))
    if outcome.end != "done":
        raise typer.Exit(CHECK_SAYS_NO)


def _told(name: str, outcome: Outcome) -> list[str]:
    """How it ended, with the plan's name as it was given."""
    plan = f"Plan {name}"
    why = f" ({outcome.detail})" if outcome.detail else ""
    if outcome.end == "aborted":
        return [f"{plan} was aborted and nothing has changed{why}."]
    if outcome.end == "superseded":
        return [f"{plan} gave way to a newer overlay{why}; see meshwright status."]
    verb = "in force" if outcome.action == "apply" else "undone"
    brokers = counted(outcome.brokers, "broker")
    took = f"led by {outcome.leader}, in {outcome.elapsed_s:.1f} s"
    lines = [f"{plan} is {verb} at {brokers} as epoch {outcome.epoch}, {took}{why}."]
    if outcome.moved or outcome.staying:
        lines.append(f"{counted(outcome.moved, 'client')} moved.")
    lines += [
        f"{counted(count, 'client')} could not be moved: {reason}."
        for reason, count in outcome.staying.items()
    ]
    return lines
