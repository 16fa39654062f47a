"""Plans: all of them; and one, with what it changes and why, its orders, and what it was worth."""

from __future__ import annotations

import time
from functools import partial
from html import escape
from typing import Any

from nicegui import ui

from meshwright.dashboard.components import (
    Cell,
    OverlayGraph,
    chip,
    empty,
    link,
    place,
    set_html,
    table_html,
)
from meshwright.dashboard.door import HOME
from meshwright.dashboard.drawing import Link, link_changes, moved_of, shape_of, still_of
from meshwright.dashboard.frame import Frame, Refresh
from meshwright.dashboard.house import House
from meshwright.dashboard.wording import ago, change, clock, number
from meshwright.errors import OperatorError
from meshwright.manager.circle.status import Status
from meshwright.manager.orders.execution import Action
from meshwright.manager.orders.saved_plans import (
    STATES,
    UNDER_WAY,
    Cost,
    PlanEntry,
    PlanState,
    SavedPlan,
)
from meshwright.model.designs import founded_as
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, told_worth
from meshwright.model.price import PARTS, TOLD
from meshwright.model.wording import amounts, counted

STEPS_SHOWN_MAX = 200
CREATE = "meshwright plan create --manager {url} --token-file .meshwright/manager/token"
KINDS = {
    PlanState.PROPOSED: "warn",
    PlanState.APPLIED: "good",
    PlanState.FAILED: "bad",
    PlanState.REFUSED: "bad",
    PlanState.ABORTED: "bad",
}
COST = (
    "cost: messages to brokers that only relay, and hops to those that want them, in the time in "
    "which the plan is to pay for itself"
)
LOCKED = "Read only: allow orders at the top of the page."
ORIGINS = {
    "trace": "a trace",
    "running": "somebody asked",
    "policy": "the policy",
    "lost": "a broker was lost",
    "churn": "brokers came or went",
}


def build_list(house: House, _frame: Frame) -> Refresh:
    """All plans, the newest first."""
    ui.html("Plans", sanitize=False, tag="h1")
    with ui.element("div").classes("mw-card"):
        listed = ui.html("", sanitize=False).classes("mw-table")
    address = str(ui.context.client.request.base_url).split(HOME)[0].rstrip("/")

    async def refresh() -> None:
        entries = await house.watch.plans()
        told = "No plan was made yet. A plan is made of the last minutes' telemetry with"
        shown = _entries(entries) if entries else empty(told, CREATE.format(url=address))
        set_html(listed, shown)

    return refresh


def build_one(house: House, frame: Frame, name: str) -> Refresh:
    """One plan."""
    return _Page(house, frame, name).refresh


class _Page:
    def __init__(self, house: House, frame: Frame, name: str) -> None:
        self._house, self._frame, self._name = house, frame, name
        self._saved: SavedPlan | None = None
        self._drawn: Plan | None = None
        ui.html(f"Plan {escape(name)}", sanitize=False, tag="h1")
        self._all = ui.html(link("all plans", place("plans")), sanitize=False)
        with ui.element("div").classes("mw-stack") as self._shown:
            self._lay_out()
        self._shown.set_visibility(False)  # until it is known that there is such a plan
        frame.when_allowed(self._show_buttons)

    def _lay_out(self) -> None:
        self._state = ui.html("", sanitize=False)
        with ui.element("div").classes("mw-row"):
            self._buttons = {
                name: ui.button(name.capitalize(), on_click=partial(self._sure, name))
                .props("no-caps unelevated")
                .classes(f"mw-{name}")
                for name in ("apply", "abort", "undo")
            }
            self._why_not = ui.label().classes("mw-quiet")
        self._progress = ui.html("", sanitize=False)
        with ui.element("div").classes("mw-two"):
            self._worth = self._card("What it is worth")
            self._against = self._card("What speaks against it")
        self._pictures = ui.element("div").classes("mw-two")
        self._steps = self._card("What changes, and why")
        for button in self._buttons.values():
            button.set_visibility(False)  # until it is known what can be ordered

    async def refresh(self) -> None:
        """What has become of it by now."""
        saved, status = await self._house.watch.plan(self._name), await self._house.watch.status()
        is_other = saved != self._saved
        self._saved = saved
        self._all.set_visibility(False)
        self._shown.set_visibility(True)
        set_html(self._progress, _progress(saved, status))
        if not is_other:
            return
        set_html(self._state, _state(saved))
        set_html(self._worth, _worth(saved))
        self._show_buttons()
        if saved.plan is not None and saved.plan != self._drawn:
            self._drawn = saved.plan
            self._draw(saved.plan)
            set_html(self._steps, _steps(saved.plan))
            set_html(self._against, _against(saved.plan, _judged_us(saved)))
        elif saved.plan is None:
            set_html(self._steps, empty("There is nothing to see of it yet."))
            set_html(self._against, empty("That is known once it is made."))

    def _card(self, title: str) -> ui.html:
        with ui.element("div").classes("mw-card"):
            ui.html(title, sanitize=False, tag="h2")
            return ui.html("", sanitize=False).classes("mw-table")

    def _show_buttons(self) -> None:
        saved = self._saved
        if saved is None:
            return
        possible = {
            "apply": PlanState.APPLYING in STATES.following[saved.state]
            and saved.state not in UNDER_WAY,
            "abort": saved.state in UNDER_WAY,
            "undo": saved.state is PlanState.APPLIED,
        }
        may_order = self._frame.may_order
        for name, button in self._buttons.items():
            button.set_visibility(possible[name])
            button.set_enabled(may_order)
        is_locked = any(possible.values()) and not may_order
        self._why_not.set_text(LOCKED if is_locked else "")

    def _sure(self, action: str) -> None:
        """Ask once more before the network is changed."""
        saved = self._saved
        moves = () if saved is None or saved.plan is None else saved.plan.client_moves()
        what = {
            "apply": f"Apply plan {self._name} to the network that runs? "
            f"{counted(len(moves), 'client')} must connect to another broker.",
            "undo": f"Undo plan {self._name}? What it moved goes back, "
            f"{counted(len(moves), 'client')} at most.",
            "abort": "End the plan under way? One that is decided already goes on.",
        }[action]
        with ui.dialog(value=True) as dialog, ui.card():
            ui.label(what)

            async def go() -> None:
                dialog.close()
                await self._order(action)

            with ui.row():
                ui.button(action.capitalize(), on_click=go).props("no-caps autofocus").classes(
                    "mw-sure"
                )
                ui.button("Cancel", on_click=dialog.close).props("flat no-caps")

    async def _order(self, action: str) -> None:
        try:
            if action == "abort":
                await self._house.abort(self._frame.visit)
            else:
                known: Action = "apply" if action == "apply" else "undo"
                await self._house.begin(self._frame.visit, known, self._name)
        except OperatorError as error:
            ui.notify(str(error), type="negative", timeout=5_000, multi_line=True)
            return
        ui.notify(f"{action.capitalize()} of {self._name} begins.")

    def _draw(self, plan: Plan) -> None:
        removed, added = link_changes(plan.source, plan.target)
        self._pictures.clear()
        with self._pictures:
            for title, overlay, other, kinds in (
                ("Before", plan.source, plan.target, removed),
                ("After", plan.target, plan.source, added),
            ):
                with ui.element("div").classes("mw-card"):
                    ui.html(f"{title}: {escape(founded_as(overlay))}", sanitize=False, tag="h2")
                    marks = moved_of(overlay, other)
                    OverlayGraph(shape_of(overlay, kinds), still_of(overlay), title, marks)
                    ui.html(_key(title, overlay, kinds, marks), sanitize=False).classes("mw-key")


def _key(title: str, overlay: Overlay, kinds: dict[Link, str], marks: dict[str, Any]) -> str:
    kind, told = ("removed", "go") if title == "Before" else ("added", "come")
    return (
        f"<b>{counted(len(overlay.links), 'link')}</b><b><i class='{kind}'></i>{len(kinds)} {told}"
        f"</b><b>{counted(len(marks['wanted']), 'broker')} with another place or other links</b>"
    )


def _entries(entries: tuple[PlanEntry, ...]) -> str:
    rows = [
        (
            link(one.id, place(f"plans/{one.id}")),
            chip(one.state.value, KINDS.get(one.state, "")),
            ORIGINS[one.origin],
            ago(one.created_us),
            _cost(one.predicted),
            _cost(one.measured),
            one.detail,
        )
        for one in reversed(entries)
    ]
    columns = ("plan!", "state!", "made because!", "when!", "predicted!", "measured!", "detail")
    return table_html(columns, rows)


def _cost(cost: Cost | None) -> str:
    if cost is None:
        return "-"
    return f"{number(cost.before)} → {number(cost.after)} ({change(cost.before, cost.after)})"


def _state(saved: SavedPlan) -> str:
    detail = f" {escape(saved.detail)}" if saved.detail else ""
    summary = f"<p>{escape(saved.plan.summary)}</p>" if saved.plan is not None else ""
    made = f"<span class='mw-quiet'>made {clock(saved.created_us)}, {ORIGINS[saved.origin]}</span>"
    return f"{chip(saved.state.value, KINDS.get(saved.state, ''))} {made}{detail}{summary}"


def _progress(saved: SavedPlan, status: Status) -> str:
    under_way = status.under_way
    if saved.state in UNDER_WAY and under_way is not None and under_way.id == saved.id:
        sight = under_way.sight
        if sight is None:
            return _bar(0.0, "Brokers are asked.")
        moved = f"; {sight.moved} clients moved, {sight.staying} stay" if sight.moved else ""
        told = f"{sight.step or 'begins'}: in force at {sight.in_force} of {sight.brokers} brokers"
        return _bar(sight.in_force / max(sight.brokers, 1), f"{told}{moved}")
    if saved.state is PlanState.MAKING:
        return _bar(0.0, saved.detail or "It is being made.")
    outcome = saved.outcome
    if outcome is None:
        return ""
    staying = "; ".join(f"{count} stay, as {why}" for why, count in outcome.staying.items())
    told = (
        f"Last order: {outcome.action}, {outcome.end} in {outcome.elapsed_s:.1f} s, led by "
        f"{outcome.leader}, in force at {counted(outcome.brokers, 'broker')}, "
        f"{counted(outcome.moved, 'client')} moved{'; ' + staying if staying else ''}. "
        f"{outcome.detail}"
    )
    return f"<div class='mw-note'>{escape(told)}</div>"


def _bar(share: float, told: str) -> str:
    return (
        f"<div class='mw-note'>{escape(told)}<div class='mw-progress' role='progressbar' "
        f"aria-valuenow='{share:.0%}'><div style='width:{share:.0%}'></div></div></div>"
    )


def _worth(saved: SavedPlan) -> str:
    rows: list[tuple[object, ...]] = []
    for title, cost in (("predicted", saved.predicted), ("measured", saved.measured)):
        if cost is not None:
            rows.append(
                (
                    f"Messages per delivery, {title}",
                    number(cost.before),
                    number(cost.after),
                    change(cost.before, cost.after),
                )
            )
    plan = saved.plan
    if plan is not None:
        rows += _plan_rows(plan)
    if not rows:
        return empty("What it is worth is known once it is made.")
    shown = table_html(("", "before#", "after#", "!"), rows)
    if plan is not None:
        shown += f"<p>{escape(told_worth(plan))}</p>"
    if saved.state is PlanState.APPLIED and saved.measured is None:
        shown += empty("It is measured for a while before a change and after it; that is not over.")
    return shown


def _plan_rows(plan: Plan) -> list[tuple[object, ...]]:
    """The price of a publication, part by part; without one, the cost that was lowered."""
    cost, price = plan.cost, plan.price
    if price is None:
        return [
            ("Cost in the horizon", *_pair(cost.before, cost.after)),
            ("Relays", *_pair(cost.overhead_external_before, cost.overhead_external_after)),
            ("Delay, in hops", *_pair(cost.delay_before, cost.delay_after)),
        ]
    shown = price.before.shown(), price.after.shown()
    totals = price.before.total, price.after.total
    return [
        (Cell("<b>Price of a publication</b>"), *(one["price"] for one in shown), change(*totals)),
        *(
            (
                f"for {TOLD[part]}",
                *(one[part] for one in shown),
                "" if shown[0][part] == shown[1][part] else change(*values),
            )
            for part, *values in zip(
                PARTS, price.before.parts().values(), price.after.parts().values(), strict=True
            )
        ),
    ]


def _pair(before: float, after: float) -> tuple[str, str, str]:
    return number(before), number(after), change(before, after)


def _judged_us(saved: SavedPlan) -> int:
    """Of when what speaks against a plan is told: now, until it is ordered."""
    return saved.order.given_us if saved.order is not None else time.time_ns() // 1_000


def _against(plan: Plan, at_us: int) -> str:
    if plan.against is None:
        return empty("That was not looked into when this plan was made.")
    items = "".join(
        f"<li>{escape(one)}</li>" for one in plan.against.sentences(at_us, is_first=plan.is_first)
    )
    return f"<ul style='margin:0;padding-left:1.1rem'>{items}</ul>"


def _steps(plan: Plan) -> str:
    if not plan.steps:
        return empty("Nothing: there is nothing better than what is in force.")
    rows = [
        (
            Cell(f"<span class='mw-chip'>{step.action.replace('_', ' ')}</span>"),
            " - ".join(step.brokers),
            step.why,
            f"{step.metric.replace('_', ' ')}: {' → '.join(amounts(step.before, step.after))}",
        )
        for step in plan.steps[:STEPS_SHOWN_MAX]
    ]
    more = len(plan.steps) - len(rows)
    end = f"<p class='mw-quiet'>and {counted(more, 'step')} more</p>" if more else ""
    columns = ("what!", "who", "why", "figure!")
    has_cost = any(step.metric == "cost" for step in plan.steps)
    return table_html(columns, rows) + end + (f"<p class='mw-quiet'>{COST}</p>" if has_cost else "")
