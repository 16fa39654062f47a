"""Clients: where each is, since when and why, what it wants, and where it was before."""

from __future__ import annotations

from html import escape

from nicegui import ui

from meshwright.dashboard.components import (
    Cell,
    chip,
    empty,
    link,
    place,
    set_html,
    set_text,
    table_html,
)
from meshwright.dashboard.frame import Frame, Refresh
from meshwright.dashboard.house import House
from meshwright.dashboard.wording import ago, clock
from meshwright.manager.views.whereabouts import ClientPage, ClientState, MoveSeen
from meshwright.model.wording import counted

SHOWN_MAX = 50
RECENT_MAX = 20
FILTERS_MAX = 4
EVERYWHERE = "all brokers"


def build(house: House, _frame: Frame) -> Refresh:
    """A search, a list, and the last moves."""
    asked = ui.context.client.request.query_params
    ui.html("Clients", sanitize=False, tag="h1")
    with ui.element("div").classes("mw-row"):
        search = ui.input("Name, or what it wants (/)", value=asked.get("search", ""))
        search.props("dense outlined clearable debounce=250").classes("mw-search")
        chosen = ui.select([EVERYWHERE], value=EVERYWHERE, label="At")
        chosen.props("dense outlined").style("min-width: 11rem")
    total = ui.label().classes("mw-quiet")
    with ui.element("div").classes("mw-card"):
        listed = ui.html("", sanitize=False).classes("mw-table")
    with ui.element("div").classes("mw-card"):
        ui.html("Last moves of any client", sanitize=False, tag="h2")
        recent = ui.html("", sanitize=False).classes("mw-table")
    wanted_broker = asked.get("broker", "")

    async def refresh() -> None:
        nonlocal wanted_broker
        names = [one.broker for one in (await house.watch.network()).brokers]
        if chosen.options != [EVERYWHERE, *names]:
            chosen.set_options([EVERYWHERE, *names])
        if wanted_broker in names:
            chosen.value, wanted_broker = wanted_broker, ""
        broker = None if chosen.value == EVERYWHERE else chosen.value
        page = await house.watch.clients((search.value or "").strip(), broker, SHOWN_MAX)
        set_text(total, _total(page))
        set_html(listed, _clients(page))
        set_html(recent, _moves(page.recent[:RECENT_MAX]))

    search.on_value_change(refresh)
    chosen.on_value_change(refresh)
    return refresh


def _total(page: ClientPage) -> str:
    shown = f"; the first {len(page.clients)}" if page.total > len(page.clients) else ""
    return f"{counted(page.total, 'client')}{shown}"


def _clients(page: ClientPage) -> str:
    if not page.clients:
        return empty("No client is like that. One appears here once it connects to any broker.")
    rows = [
        (
            one.client,
            link(one.broker, place("overlay", broker=one.broker)),
            "" if one.is_connected else chip("away", "warn"),
            ago(one.since_us),
            one.why,
            _filters(one),
            f"{one.queued + one.in_flight:,}",
            _history(one),
        )
        for one in page.clients
    ]
    columns = ("client!", "at!", "", "since!", "why there", "wants", "waiting#", "moves!")
    return table_html(columns, rows)


def _filters(one: ClientState) -> str:
    more = one.subscriptions - FILTERS_MAX
    shown = ", ".join(one.filters[:FILTERS_MAX])
    return f"{shown} and {more} more" if more > 0 else shown


def _history(one: ClientState) -> Cell:
    if not one.moves:
        return Cell("-")
    items = "".join(
        f"<div>{clock(move.time_us)} {escape(move.source)} → {escape(move.target)}</div>"
        for move in reversed(one.moves)
    )
    return Cell(f"<details><summary>{len(one.moves)}</summary>{items}</details>")


def _moves(moves: tuple[MoveSeen, ...]) -> str:
    if not moves:
        return empty("None since the manager began to look.")
    rows = [
        (clock(one.time_us), one.client, f"{one.source} → {one.target}", one.why) for one in moves
    ]
    return table_html(("when!", "client", "from and to!", "why"), rows)
