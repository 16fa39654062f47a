"""The commands of operators: status, clients, subscriptions, topics and drain."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Data, Json
from meshwright.cli.screen import answer, counted, plain_table, working

if TYPE_CHECKING:
    from meshwright.live.control_client import BrokerControl
    from meshwright.protocol.inspection import BrokerView

LOOK_EVERY_S = 0.2
STOP_S = 30.0
NARROW = {"neighbours": "neigh-\nbours", "subscriptions": "subscrip-\ntions"}

Only = Annotated[
    str | None, typer.Option("--broker", metavar="NAME", help="Only this one.", show_default="all")
]


def status(*, data: Data = Path(".meshwright"), as_json: Json = False) -> None:
    """Say which brokers run, how they are joined, what they have, and whether anything is wrong.

    Example: meshwright status
    """
    views = _views(data)
    first = max(views.values(), key=lambda view: view.epoch)
    missing = [name for name in first.overlay.brokers if name not in views]
    rows = [_status_row(view) for view in views.values()]
    document = {
        "command": "status",
        "design": first.overlay.design,
        "epoch": first.epoch,
        "brokers": rows,
        "not_running_here": missing,
    }
    columns = {"broker": False, "alive": True, "neighbours": True, "clients": True,
               "sessions": True, "subscriptions": True, "queued": True, "kept": True,
               "state": False}  # fmt: skip
    titles = {NARROW.get(name, name): kind for name, kind in columns.items()}
    table = plain_table(titles, ([str(row[name]) for name in columns] for row in rows))
    run = "1 broker runs" if len(views) == 1 else f"{len(views)} brokers run"
    told = f"{run}, joined as {first.overlay.design}, epoch {first.epoch}"
    answer(
        as_json,
        document,
        table,
        told,
        *([f"Not running here: {', '.join(missing)}"] if missing else []),
    )


def clients(
    *, data: Data = Path(".meshwright"), broker: Only = None, as_json: Json = False
) -> None:
    """List the sessions of all clients, where they are, and what waits for them.

    Example: meshwright clients --broker broker1
    """
    rows = [
        {
            "client": session.client,
            "broker": view.broker,
            "is_connected": session.is_connected,
            "expiry_s": session.expiry_s,
            "subscriptions": len(session.subscriptions),
            "queued": session.queued,
            "under_way": session.under_way,
        }
        for view in _chosen(_views(data), broker)
        for session in view.sessions
    ]
    columns = {"client": False, "broker": False, "is_connected": False, "expiry_s": True,
               "subscriptions": True, "queued": True, "under_way": True}  # fmt: skip
    _list_rows("clients", rows, columns, as_json)


def subscriptions(
    *, data: Data = Path(".meshwright"), broker: Only = None, as_json: Json = False
) -> None:
    """List who has subscribed to what, and where.

    Example: meshwright subscriptions
    """
    rows = [
        {
            "client": session.client,
            "broker": view.broker,
            "filter": subscription.filter,
            "qos": subscription.qos,
        }
        for view in _chosen(_views(data), broker)
        for session in view.sessions
        for subscription in session.subscriptions
    ]
    columns = {"client": False, "broker": False, "filter": False, "qos": True}
    _list_rows("subscriptions", rows, columns, as_json)


def topics(*, data: Data = Path(".meshwright"), as_json: Json = False) -> None:
    """List what is wanted in the network: each filter, at which brokers, and by how many.

    Example: meshwright topics
    """
    found: dict[str, dict[str, int]] = {}
    for view in _views(data).values():
        for interest in view.interests:
            found.setdefault(interest.filter, {})[view.broker] = interest.count
    rows: list[dict[str, Any]] = [
        {"filter": text, "wanted": sum(counts.values()), "brokers": sorted(counts)}
        for text, counts in sorted(found.items())
    ]
    _list_rows("topics", rows, {"filter": False, "wanted": True, "brokers": False}, as_json)


def drain(
    broker: Annotated[str, typer.Argument(metavar="BROKER", help="The broker to be stopped.")],
    *,
    data: Data = Path(".meshwright"),
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="A,B,...", show_default="all that live", help="Who takes its clients."
        ),
    ] = "",
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.0, metavar="SECONDS", help="Then it is left as is.")
    ] = 600.0,
    undo: Annotated[bool, typer.Option("--undo", help="Let it take clients again.")] = False,
    as_json: Json = False,
) -> None:
    """Move a broker's clients and what it has promised elsewhere, then stop it.

    Example: meshwright drain broker3
    """
    from meshwright.live.control_client import running_brokers

    running = running_brokers(data)
    _refuse_unknown(broker, tuple(running))
    control, view = running[broker]
    if undo:
        control.order("/fill")
        answer(
            as_json, {"command": "drain", "broker": broker, "is_emptying": False},
            f"{broker} takes clients again.",
        )  # fmt: skip
        return
    control.order("/drain", **({"to": to} if to else {}))
    with working(f"Emptying {broker}"):
        _wait_until_empty(control, timeout)
        control.order("/stop")
        _wait_until_over(control)
    document = {"command": "drain", "broker": broker, "sessions_moved": len(view.sessions)}
    moved = counted(len(view.sessions), "session")
    answer(as_json, document, f"{broker} is empty and has stopped: {moved} moved.")


def _wait_until_empty(control: BrokerControl, timeout_s: float) -> None:
    from meshwright.errors import OperatorError

    deadline_s = time.monotonic() + timeout_s
    while True:
        view = control.view()
        if view is None:
            raise OperatorError(f"{control.name} ended before it was empty; see its log.")
        if not view.sessions and not view.kept:
            return
        if time.monotonic() > deadline_s:
            raise OperatorError(
                f"{control.name} still has {counted(len(view.sessions), 'session')} and "
                f"{counted(view.kept, 'publication')}; it goes on emptying: ask again, or take it "
                "back with --undo."
            )
        time.sleep(LOOK_EVERY_S)


def _wait_until_over(control: BrokerControl) -> None:
    from meshwright.errors import OperatorError

    deadline_s = time.monotonic() + STOP_S
    while control.view() is not None:
        if time.monotonic() > deadline_s:
            raise OperatorError(f"{control.name} is empty but does not stop; see its log.")
        time.sleep(LOOK_EVERY_S)


def _views(data: Path) -> dict[str, BrokerView]:
    from meshwright.live.control_client import running_brokers

    return {name: view for name, (_, view) in running_brokers(data).items()}


def _chosen(views: dict[str, BrokerView], name: str | None) -> list[BrokerView]:
    if name is None:
        return list(views.values())
    _refuse_unknown(name, tuple(views))
    return [views[name]]


def _refuse_unknown(name: str, running: tuple[str, ...]) -> None:
    from meshwright.errors import OperatorError

    if name not in running:
        raise OperatorError(f"No broker {name!r} runs here; those that do: {', '.join(running)}.")


def _status_row(view: BrokerView) -> dict[str, Any]:
    state = "draining" if view.is_emptying else "running"
    if view.plan is not None:
        state += f", plan {view.plan.name} led by {view.plan.coordinator}"
    if view.star is not None:
        state += f", redraws its neighbourhood by {view.star}"
    return {
        "broker": view.broker,
        "alive": len(view.alive),
        "neighbours": len(view.neighbours),
        "clients": sum(session.is_connected for session in view.sessions),
        "sessions": len(view.sessions),
        "subscriptions": sum(len(session.subscriptions) for session in view.sessions),
        "queued": sum(session.queued for session in view.sessions),
        "kept": view.kept,
        "epoch": view.epoch,
        "state": state,
    }


def _list_rows(
    command: str, rows: list[dict[str, Any]], columns: dict[str, bool], as_json: bool
) -> None:
    shown = [[_shown(row[name]) for name in columns] for row in rows]
    titles = {name.removeprefix("is_").replace("_", " "): kind for name, kind in columns.items()}
    table = plain_table(titles, shown)
    answer(
        as_json,
        {"command": command, command: rows},
        table,
        counted(len(rows), command.removesuffix("s")),
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
