"""Compare: reports on the designs, made of the recorded trace by commands, the newest first."""

from __future__ import annotations

from html import escape

from nicegui import app, ui
from starlette.responses import HTMLResponse, Response

from meshwright.dashboard.components import empty, place, set_html
from meshwright.dashboard.frame import Frame, Refresh
from meshwright.dashboard.house import House
from meshwright.dashboard.wording import clock
from meshwright.errors import OperatorError

TRACE, REPORT = ".meshwright/manager/trace", ".meshwright/manager/reports/compare"
COMPARE = f"meshwright compare {TRACE} --slot 1min --out {REPORT}"
NOTHING = (
    "There is no report yet. This replays what was recorded against every design, recommends one, "
    "and leaves its report here; meshwright lab run does so with --out of the same folder:"
)
# Reports are pages of ours with scripts that sort their tables, and nothing else.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
UNKNOWN = 404


def build(house: House, _frame: Frame) -> Refresh:
    """The newest report, and a choice of the others."""
    ui.html("Compare", sanitize=False, tag="h1")
    chosen = ui.select([], label="Report").props("dense outlined").style("max-width: 26rem")
    shown = ui.html("", sanitize=False)

    async def refresh() -> None:
        entries = await house.watch.reports()
        names = {one.name: f"{one.name}, {clock(one.made_us)}" for one in entries}
        chosen.set_visibility(bool(names))
        if chosen.options != names:
            newest = next(iter(names), None)
            chosen.set_options(names, value=chosen.value if chosen.value in names else newest)
        show()

    def show() -> None:
        name = chosen.value
        if not name:
            set_html(shown, f"<div class='mw-card'>{empty(NOTHING, COMPARE)}</div>")
            return
        address = place(f"reports/{name}")
        set_html(
            shown,
            f"<div class='mw-card'><iframe class='mw-frame' title='{escape(name)}' "
            f"sandbox='allow-scripts' src='{address}'></iframe>"
            f"<p><a href='{address}' target='_blank'>open it alone</a></p></div>",
        )

    chosen.on_value_change(show)
    return refresh


def add_report(house: House) -> None:
    """Where a report is that the page shows."""

    @app.get("/reports/{name}", include_in_schema=False)
    async def report(name: str) -> Response:
        try:
            page = await house.watch.report(name)
        except OperatorError as error:
            return HTMLResponse(escape(str(error)), UNKNOWN)
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})
