"""meshwright plan list, and plans by their id: saved in a network's folder, or at a manager."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from meshwright.cli.console.options import Data, Json
from meshwright.cli.console.screen import answer, plain_table, task_bar
from meshwright.cli.overlays.overlay_plans import told_against, told_price_of
from meshwright.cli.traces.plan_goals import read_goals
from meshwright.model.times import SECOND_US
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from meshwright.manager.circle.desk import Desk
    from meshwright.manager.circle.status import Status
    from meshwright.manager.deciding.planner import PlanRequest
    from meshwright.manager.orders.saved_plans import PlanEntry, SavedPlan

DEFAULT_DATA = Path(".meshwright")
PlanName = Annotated[
    str,
    typer.Argument(
        metavar="PLAN", help="A plan.json, or the id of a saved plan.", show_default=False
    ),
]
ManagerUrl = Annotated[
    str | None,
    typer.Option(
        "--manager",
        metavar="URL",
        show_default="the folder's own plans",
        help="Where a manager answers: http://127.0.0.1:8090.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="The token that the manager wants."),
]


def listed(
    *,
    data: Data = DEFAULT_DATA,
    manager: ManagerUrl = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """List saved plans: when each was made of what, what became of it, what it saved.

    Messages are those between brokers for one that a client gets: as predicted, and as measured.

    Example: meshwright plan list
    """
    desk = desk_at(data, manager, token_file)
    found = desk.entries()
    rows = [
        [one.id, told_time(one.created_us), one.origin, one.state.value, *_costs(one), one.detail]
        for one in found
    ]
    columns = {
        "plan": False, "made": False, "of": False, "state": False,
        "predicted messages": True, "measured messages": True, "detail": False,
    }  # fmt: skip
    shown: Any = plain_table(columns, rows) if rows else "No plan is saved here."
    status = desk.status()
    document = {"command": "plan list", "plans": found, "status": status}
    answer(as_json, document, shown, *([] if status is None else _told_status(status)))


# Options of plan create that a manager takes, and as what; the others are its own settings.
WISHES = {
    "design": "design",
    "objective": "objective",
    "placement": "placement",
    "k": "k",
    "method": "method",
    "add_broker": "add_brokers",
    "remove_broker": "remove_brokers",
}
GOALS = {"goal", "goals_file", "degree_max"}
MANAGERS_OWN = {*WISHES, *GOALS, "manager", "token_file", "early", "as_json"}


class RestPlace(NamedTuple):
    """Where a manager answers, and the file of its token."""

    url: str
    token_file: Path | None


def make_at_manager(context: typer.Context, place: RestPlace, *, is_early: bool) -> None:
    """Have a manager make a plan for the network that runs, and show what it is worth."""
    from meshwright.manager.rest.rest_client import RestDesk

    given = {
        name: value
        for name, value in context.params.items()
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }
    request = request_of(given, is_early=is_early)
    desk = RestDesk(*place)
    with task_bar("Making a plan") as bar:
        saved = desk.make(request, bar.say)
    plan = saved.whole()
    document = {"command": "plan create", "saved": saved}
    answer(
        bool(given.get("as_json")),
        document,
        plan.summary,
        *told_costs(saved),
        *told_price_of(plan),
        f"{saved.id}: {counted(len(plan.steps), 'step')}",
        *told_against(plan),
    )


def request_of(given: Mapping[str, Any], *, is_early: bool) -> PlanRequest:
    """What options of plan create ask of a manager; those that are its own settings are refused."""
    from meshwright.errors import OperatorError
    from meshwright.manager.deciding.planner import PlanRequest

    strange = sorted(set(given) - MANAGERS_OWN)
    if strange:
        raise OperatorError(
            f"A manager takes no {strange[0].replace('_', '-')!r} with a plan; leave it out, or "
            "see docs/manager.toml."
        )
    wished = {wish: given[name] for name, wish in WISHES.items() if name in given}
    goals = read_goals(*map(given.get, ("goals_file", "goal", "degree_max")))
    return PlanRequest(early=is_early, goals=goals, **wished)


def named_plan(name: str) -> Path | None:
    """The file that is meant; None if a saved plan is."""
    path = Path(name)
    is_file = len(path.parts) > 1 or path.suffix == ".json" or path.exists()
    return path if is_file else None


def desk_at(data: Path, manager: str | None, token_file: Path | None) -> Desk:
    """Where saved plans are: at a manager if one is named, else in the folder."""
    from meshwright.errors import OperatorError
    from meshwright.manager.circle.desk import FolderDesk

    if manager is None:
        if token_file is not None:
            raise OperatorError("--token-file is for a manager; name it with --manager URL.")
        return FolderDesk(data)
    from meshwright.manager.rest.rest_client import RestDesk

    return RestDesk(manager, token_file)


def told_costs(saved: SavedPlan) -> list[str]:
    """What has become of a saved plan, for people."""
    why = f" ({saved.detail})" if saved.detail else ""
    made = f"made of {saved.origin} at {told_time(saved.created_us)}"
    lines = [f"Plan {saved.id} is {saved.state.value}{why}; {made}."]
    for word, cost in (("predicted", saved.predicted), ("measured", saved.measured)):
        if cost is not None:
            lines.append(
                f"Messages between brokers for a delivery, {word}: {cost.before:.3f} before, "
                f"{cost.after:.3f} after."
            )
    if saved.outcome is not None and saved.outcome.moved:
        lines.append(f"{counted(saved.outcome.moved, 'client')} moved.")
    return lines


def told_time(time_us: int) -> str:
    """A time of day in UTC, for people."""
    return f"{datetime.fromtimestamp(time_us / SECOND_US, UTC):%Y-%m-%d %H:%M:%S}"


def _told_status(status: Status) -> list[str]:
    """What a manager does and waits for, line by line."""
    cost = "" if status.cost is None else f"; a delivery takes {status.cost:.3f} messages now"
    silent = [f"{name} gives no telemetry: {why}" for name, why in status.silent.items()]
    trouble = [status.trouble] if status.trouble else []
    return [
        f"Telemetry: {status.telemetry}{cost}.",
        f"Lease: {status.lease}. Policy: {status.policy}; plans are trusted by {status.trust:.0%}.",
        f"Last: {status.last}",
        *silent,
        *trouble,
        *status.notes,
    ]


def _costs(entry: PlanEntry) -> tuple[str, str]:
    found = (entry.predicted, entry.measured)
    predicted, measured = (
        "" if one is None else f"{one.before:.2f} to {one.after:.2f}" for one in found
    )
    return predicted, measured
