"""Mobility: sessions that followed their clients, by mode, and what went with them."""

from __future__ import annotations

from nicegui import ui

from meshwright.dashboard.components import empty, set_html, set_text, table_html
from meshwright.dashboard.frame import Frame, Refresh
from meshwright.dashboard.house import House
from meshwright.dashboard.wording import clock, number
from meshwright.manager.views.figures import Figures
from meshwright.manager.views.whereabouts import ClientPage

RECENT_MAX = 50
MODES = {
    "standard": "the new broker fetched the session",
    "prefetching": "the session went ahead to where its client was expected",
    "logging": "what the new broker had seen already was left out",
}


def build(house: House, _frame: Frame) -> Refresh:
    """Figures and lists, to be filled."""
    ui.html("Mobility", sanitize=False, tag="h1")
    with ui.element("section").classes("mw-grid"):
        values = [_value(title) for title in ("Hand-overs", "Messages stored for them",
                                              "Replayed at the new broker",
                                              "Waiting for clients now")]  # fmt: skip
    with ui.element("div").classes("mw-card"):
        ui.html("Hand-overs by mode", sanitize=False, tag="h2")
        modes = ui.html("", sanitize=False).classes("mw-table")
    with ui.element("div").classes("mw-card"):
        ui.html("Last moves", sanitize=False, tag="h2")
        moves = ui.html("", sanitize=False).classes("mw-table")

    async def refresh() -> None:
        figures = await house.watch.figures()
        page = await house.watch.clients("", None, 1)
        overs = figures.hand_overs.values()
        sums = (
            sum(one.sessions for one in overs),
            sum(one.stored for one in overs),
            sum(one.replayed for one in overs),
            figures.waiting,
        )
        for label, count in zip(values, sums, strict=True):
            set_text(label, f"{count:,}")
        set_html(modes, _modes(figures))
        set_html(moves, _moves(page))

    return refresh


def _value(title: str) -> ui.label:
    with ui.element("div").classes("mw-card"):
        ui.label(title).classes("mw-label")
        return ui.label("-").classes("mw-value")


def _modes(figures: Figures) -> str:
    if not figures.hand_overs:
        return empty(
            "No session has gone to another broker since brokers started. One does when a client "
            "with a session that outlives its connection connects elsewhere, or a plan moves it."
        )
    rows = [
        (
            mode,
            MODES.get(mode, ""),
            f"{one.sessions:,}",
            f"{one.stored:,}",
            f"{one.replayed:,}",
            number(one.replayed / one.sessions) if one.sessions else "-",
        )
        for mode, one in figures.hand_overs.items()
    ]
    columns = ("mode!", "which is", "sessions#", "stored#", "replayed#", "replayed a session#")
    return table_html(columns, rows)


def _moves(page: ClientPage) -> str:
    if not page.recent:
        return empty(
            "No client was seen at another broker since the manager began to look; what brokers "
            "count above goes back to when they were started."
        )
    rows = [
        (clock(one.time_us), one.client, f"{one.source} → {one.target}", one.why)
        for one in page.recent[:RECENT_MAX]
    ]
    return table_html(("when!", "client", "from and to!", "why"), rows)
