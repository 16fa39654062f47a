"""The commands of operators: status, clients, subscriptions, topics, down, drain and forget."""

from __future__ import annotations

import difflib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import msgspec
import typer

from meshwright.cli.console.options import Data, Json
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, confirm, plain_table, working
from meshwright.model.designs import founded_as
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from meshwright.live.operating.control_client import BrokerControl
    from meshwright.protocol.inspection import BrokerView

LOOK_EVERY_S = 0.2
STOP_S = 30.0
NEAREST_MAX = 3
FULL_SHOWN_MAX = 5
NARROW = {"neighbours": "neigh-\nbours", "subscriptions": "subscrip-\ntions"}

Only = Annotated[
    str | None, typer.Option("--broker", metavar="NAME", help="Only this one.", show_default="all")
]


def status(*, data: Data = Path(".meshwright"), as_json: Json = False) -> None:
    """Say which brokers run, how they are joined, what they have, and whether anything is wrong.

    Exit code 1 if a broker is lost, a disk takes no more, a queue is full or a topic is weak.

    Example: meshwright status
    """
    views = _views(data)
    first = max(views.values(), key=lambda view: view.epoch)
    missing = [name for name in first.overlay.brokers if name not in views]
    # Others that run know whether one lives that has its folder elsewhere.
    alive = {name for view in views.values() for name in view.alive}
    lost = [name for name in missing if name not in alive]
    rows = [_status_row(view) for view in views.values()]
    full = [row for view in views.values() for row in _full_queues(view)]
    troubles = [
        {"broker": view.broker, "reason": view.disk_trouble}
        for view in views.values()
        if view.disk_trouble is not None
    ]
    staying = dict(sum((Counter(view.staying) for view in views.values()), Counter[str]()))
    weak = {
        one.topic: msgspec.to_builtins(one) for view in views.values() for one in view.weak_topics
    }
    document = {
        "command": "status",
        "design": founded_as(first.overlay),
        "epoch": first.epoch,
        "brokers": rows,
        "not_running_here": missing,
        "lost": lost,
        "full_queues": full,
        "disk_troubles": troubles,
        "staying": staying,
        "weak_topics": list(weak.values()),
    }
    columns = {"broker": False, "alive": True, "neighbours": True, "clients": True,
               "sessions": True, "subscriptions": True, "queued": True, "kept": True,
               "state": False}  # fmt: skip
    titles = {NARROW.get(name, name): kind for name, kind in columns.items()}
    lost_rows = [{"broker": name, "state": "lost"} for name in lost]
    told_rows = sorted((*rows, *lost_rows), key=lambda row: row["broker"])
    table = plain_table(titles, ([str(row.get(name, "")) for name in columns] for row in told_rows))
    elsewhere = [name for name in missing if name in alive]
    run = "1 broker runs" if len(views) == 1 else f"{len(views)} brokers run"
    told = f"{run}, joined as {founded_as(first.overlay)}, epoch {first.epoch}"
    answer(
        as_json,
        document,
        table,
        told,
        *([_lost_told(lost)] if lost else []),
        *([f"Not running here: {', '.join(elsewhere)}"] if elsewhere else []),
        *([_full_told(full)] if full else []),
        *(
            f"{one['broker']} refuses publications of QoS 1 and 2: {one['reason']}"
            for one in troubles
        ),
        *(
            f"{counted(count, 'client')} cannot be sent to another broker: {reason}"
            for reason, count in staying.items()
        ),
        *([_weak_told(list(weak.values()))] if weak else []),
    )
    if lost or troubles or full or weak:
        raise typer.Exit(CHECK_SAYS_NO)


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
            "in_flight": session.in_flight,
            "is_full": session.is_full,
        }
        for view in _chosen(_views(data), broker)
        for session in view.sessions
    ]
    columns = {"client": False, "broker": False, "is_connected": False, "expiry_s": True,
               "subscriptions": True, "queued": True, "in_flight": True,
               "is_full": False}  # fmt: skip
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
    from meshwright.live.operating.control_client import running_brokers

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


def down(*, data: Data = Path(".meshwright"), as_json: Json = False) -> None:
    """Stop all brokers that run here, and their manager, if one manages them here.

    What they keep stays, and meshwright up goes on with it.

    Example: meshwright down
    """
    from meshwright.live.operating.control_client import answering_brokers, running_brokers
    from meshwright.manager.circle.desk import stop_holder
    from meshwright.manager.settings import MANAGER_FOLDER

    running = answering_brokers(data)
    with working(f"Stopping {counted(len(running), 'broker')}"):
        for control, _ in running.values():
            control.order("/stop")
        for control, _ in running.values():
            _wait_until_over(control)
        is_managed = stop_holder(data / MANAGER_FOLDER, within_s=STOP_S)
    if not (running or is_managed):
        running_brokers(data)  # says that there are none
    stopped = [*running, *(["the manager"] if is_managed else [])]
    document = {"command": "down", "stopped": list(running), "manager_stopped": is_managed}
    answer(as_json, document, f"Stopped: {', '.join(stopped)}.")


def forget(
    client: Annotated[
        str, typer.Argument(metavar="CLIENT", help="Its name, as meshwright clients shows it.")
    ],
    *,
    data: Data = Path(".meshwright"),
    is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask whether to do it.")] = False,
    as_json: Json = False,
) -> None:
    """End a client's session with all that waits for it, as if its time had passed.

    Its client is disconnected first; it may come back, and begins anew. Publishers that were
    refused as the session's queue was full are taken again.

    Example: meshwright forget door@alice
    """
    from meshwright.live.operating.control_client import running_brokers

    running = running_brokers(data)
    holders = {
        name: (control, session)
        for name, (control, view) in running.items()
        for session in view.sessions
        if session.client == client
    }
    if not holders:
        _refuse_client(client, [view for _, view in running.values()])
    waiting = sum(session.queued + session.in_flight for _, session in holders.values())
    if sys.stdin.isatty() and not is_sure:
        where = " and ".join(holders)
        lost = f"lose {counted(waiting, 'message')}" if waiting else "lose no message"
        confirm(f"End the session of {client} at {where}, and {lost}?")
    document = _forgotten(client, [control for control, _ in holders.values()])
    gone = "its session is gone"
    if document["messages"]:
        waited = counted(document["messages"], "message")
        gone = f"its session and {waited} that waited are gone"
    if document["was_connected"]:
        gone = f"it was disconnected; {gone}"
    told = f"{client} at {document['broker']}: {gone}."
    answer(as_json, {"command": "forget", "client": client, **document}, told)


def _forgotten(client: str, holders: list[BrokerControl]) -> dict[str, Any]:
    """Have a session ended; of several brokers one has it, and the others see it come or go."""
    from meshwright.errors import OperatorError

    refusals: list[OperatorError] = []
    for control in holders:
        try:
            return control.order("/forget", client=client)
        except OperatorError as refusal:
            refusals.append(refusal)
    raise refusals[0]


def _refuse_client(client: str, views: list[BrokerView]) -> NoReturn:
    from meshwright.errors import OperatorError

    known = sorted({session.client for view in views for session in view.sessions})
    near = difflib.get_close_matches(client, known, n=NEAREST_MAX, cutoff=0.5)
    if client in {one.client for view in views for one in view.full_queues}:
        advice = "it is a shared subscription, whose queue goes with the last of its clients"
    elif near:
        advice = f"the nearest names: {', '.join(near)}"
    elif known:
        advice = "see meshwright clients"
    else:
        advice = "they keep none"
    raise OperatorError(f"No broker that runs here keeps a session of {client!r}; {advice}.")


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
            raise OperatorError(f"{control.name} does not stop; see its log.")
        time.sleep(LOOK_EVERY_S)


def _views(data: Path) -> dict[str, BrokerView]:
    from meshwright.live.operating.control_client import running_brokers

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
    if view.adaptation == "held":
        state += ", leaves its tree as it is"
    if view.sends_away:
        state += f", sends {counted(view.sends_away, 'client')} away"
    if view.star is not None:
        state += f", redraws its neighbourhood by {view.star}"
    if view.disk_trouble is not None:
        state += f", {view.disk_trouble}"
    full_count = len(_full_queues(view))
    if full_count:
        state += f", {counted(full_count, 'full queue')}"
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


def _lost_told(lost: list[str]) -> str:
    """Who answers nobody, not here and not other brokers."""
    them, folders = ("it", "its folder") if len(lost) == 1 else ("them", "their folders")
    return (
        f"Lost: {', '.join(lost)}; other brokers do not hear {them} either: start {them} again "
        f"with {folders}, or plan without {them}"
    )


def _weak_told(weak: list[dict[str, Any]]) -> str:
    """Topics that a few more losses may part, the weakest first."""
    weak.sort(key=lambda one: (one["held"], one["topic"]))
    named = [f"{one['topic']} ({one['held']} of {one['k']})" for one in weak[:FULL_SHOWN_MAX]]
    more = f" and {len(weak) - len(named)} more" if len(weak) > len(named) else ""
    return (
        f"Brokers of {counted(len(weak), 'topic')} are joined by fewer ways than they should be: "
        f"{', '.join(named)}{more}; plan again with meshwright plan create"
    )


def _full_queues(view: BrokerView) -> list[dict[str, Any]]:
    """Clients of a broker for which no more is taken, and groups, whose messages nobody counts."""
    rows: list[dict[str, Any]] = [
        {"client": one.client, "broker": view.broker, "queued": one.queued + one.in_flight}
        for one in view.sessions
        if one.is_full
    ]
    named = {row["client"] for row in rows}
    return rows + [
        {"client": one.client, "broker": view.broker, "queued": None}
        for one in view.full_queues
        if one.broker == view.broker and one.client not in named
    ]


def _full_told(rows: list[dict[str, Any]]) -> str:
    """Whose queues are full, as far as they fit in a line."""
    told = []
    for row in rows[:FULL_SHOWN_MAX]:
        messages = f" ({counted(row['queued'], 'message')})" if row["queued"] is not None else ""
        told.append(f"{row['client']} at {row['broker']}{messages}")
    if len(rows) > FULL_SHOWN_MAX:
        told.append(f"and {len(rows) - FULL_SHOWN_MAX:,} more")
    ended = "meshwright forget CLIENT ends a session"
    return f"{counted(len(rows), 'full queue')}: {', '.join(told)}; {ended}"


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
