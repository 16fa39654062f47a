"""Overlay: how brokers are joined and what links carry; the way of a message; one broker."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from nicegui import ui

from meshwright.dashboard.components import (
    OverlayGraph,
    chip,
    empty,
    link,
    place,
    set_html,
    set_text,
    table_html,
)
from meshwright.dashboard.drawing import live_of, marks_of, overlay_of, shape_of
from meshwright.dashboard.frame import Frame, Refresh
from meshwright.dashboard.house import House
from meshwright.dashboard.wording import clock, rate
from meshwright.errors import MeshwrightError
from meshwright.manager.orders.saved_plans import PlanState
from meshwright.manager.views.network_state import BrokerState, NetworkState, TopicPage
from meshwright.manager.views.paths import PathView
from meshwright.manager.views.whereabouts import ClientPage
from meshwright.model.overlay import Overlay
from meshwright.model.wording import counted

SHOWN_MAX = 12
SUGGESTED_MAX = 50
KEY = (
    "<b><i class='load'></i>load of a broker</b><b><i></i>link, as wide as its traffic</b>"
    "<b><i class='now'></i>way of a message now</b><b><i class='then'></i>with the plan</b>"
    "<b><i class='lost'></i>lost broker</b>"
)
UNKNOWN = "not known: its sessions wait there until it is back"
# Parameters of a design that are off.
UNSAID = (None, False, 0)
HELP = "Arrow keys go from broker to broker, Enter picks one; + and - zoom, 0 shows all."


def build(house: House, _frame: Frame) -> Refresh:
    """The picture, and beside it what is asked about it."""
    return _Page(house).refresh


class _Page:
    def __init__(self, house: House) -> None:
        self._watch = house.watch
        self._overlay: Overlay | None = None
        self._state: NetworkState | None = None
        self._broker = ui.context.client.request.query_params.get("broker", "")
        self._asked: tuple[str, str] | None = None
        ui.html("Overlay", sanitize=False, tag="h1")
        self._told = ui.label().classes("mw-quiet")
        with ui.element("div").classes("mw-split"):
            with ui.element("div").classes("mw-card"):
                self._graph = OverlayGraph(
                    {"nodes": [], "links": [], "bend": 0, "rings": []},
                    {"nodes": [], "links": [], "dead": [], "told": []},
                    f"The overlay. {HELP}",
                )
                self._graph.choose(self._broker)
                self._graph.on("pick", self._picked)
                ui.html(KEY, sanitize=False).classes("mw-key")
                ui.label(HELP).classes("mw-quiet").style("font-size: .78rem; margin-top: .4rem")
            with ui.element("div").classes("mw-stack"):
                self._ask_path()
                with ui.element("div").classes("mw-card"):
                    ui.html("A broker", sanitize=False, tag="h2")
                    self._one = ui.html("", sanitize=False).classes("mw-table")

    async def refresh(self) -> None:
        """The picture anew if the overlay is another one, else only what it carries."""
        state = await self._watch.network()
        overlay = overlay_of(state)
        if overlay != self._overlay:
            self._graph.reshape(shape_of(overlay), live_of(state))
        elif self._state is None or live_of(state) != live_of(self._state):
            self._graph.load(live_of(state))
        is_other = overlay != self._overlay
        self._overlay, self._state = overlay, state
        set_text(self._told, _told(state))
        if is_other:
            self._source.set_options([one.broker for one in state.brokers])
            self._source.value = self._source.value or state.brokers[0].broker
            self._topic.set_autocomplete(
                [one.filter for one in (await self._watch.topics("", None, SUGGESTED_MAX)).topics]
            )
            await self._show_path()
        await self._show_broker()

    def _ask_path(self) -> None:
        with ui.element("div").classes("mw-card"):
            ui.html("The way of a message", sanitize=False, tag="h2")
            with ui.element("div").classes("mw-row"):
                self._topic = ui.input("Topic", on_change=self._show_path).classes("mw-search")
                self._topic.props("dense outlined debounce=300 clearable")
                self._source = ui.select([], label="Published at", on_change=self._show_path)
                self._source.props("dense outlined").style("min-width: 9rem")
            self._way = ui.html("", sanitize=False).classes("mw-table").style("margin-top: .6rem")
            set_html(self._way, empty("Name a topic to see which brokers a message on it visits."))

    async def _picked(self, event: Any) -> None:
        self._broker = str(event.args)
        # Who reloads the page, or hands on its address, comes back to this broker.
        address = json.dumps(place("overlay", broker=self._broker))
        ui.run_javascript(f"history.replaceState(history.state, '', {address})")
        await self._show_broker()

    async def _show_broker(self) -> None:
        state = self._state
        found = [one for one in state.brokers if one.broker == self._broker] if state else []
        if not found or state is None:
            lost = f"There is no broker {self._broker!r} in this network. " if self._broker else ""
            set_html(self._one, empty(f"{lost}Pick a broker in the picture."))
            return
        clients = await self._watch.clients("", self._broker, SHOWN_MAX)
        topics = await self._watch.topics("", self._broker, SHOWN_MAX)
        set_html(self._one, _broker(found[0], state, clients, topics))

    async def _show_path(self) -> None:
        topic, source = (self._topic.value or "").strip(), self._source.value
        if not topic or not source or self._overlay is None:
            self._graph.pick_out({})
            set_html(self._way, empty("Name a topic to see which brokers a message on it visits."))
            return
        proposed = [one for one in await self._watch.plans() if one.state is PlanState.PROPOSED]
        plan = proposed[-1].id if proposed else None
        try:
            now = await self._watch.path(topic, source, None)
        except MeshwrightError as error:
            self._graph.pick_out({})
            set_html(self._way, empty(str(error)))
            return
        try:
            then = None if plan is None else await self._watch.path(topic, source, plan)
        except MeshwrightError:  # the plan has made room, or leaves out the broker
            then = None
        self._graph.pick_out(marks_of(self._overlay, now.wanted_at, now, then))
        set_html(self._way, _way(now, then, plan))


def _told(state: NetworkState) -> str:
    params = ", ".join(_param(*one) for one in state.params.items() if one[1] not in UNSAID)
    lost = sum(not one.is_alive for one in state.brokers)
    busiest = state.traffic[0] if state.traffic else None
    most = (
        f"; the busiest link, {busiest.one} - {busiest.other}, carries "
        f"{rate(busiest.messages_per_s)}"
        if busiest
        else ""
    )
    return (
        f"{counted(len(state.brokers), 'broker')}{f', of which {lost} lost' if lost else ''}, "
        f"{counted(len(state.links), 'link')}, "
        f"{state.design}{f' ({params})' if params else ''}, epoch {state.epoch}{most}"
    )


def _param(name: str, value: object) -> str:
    told = name.replace("_", " ")
    return told if value is True else f"{told} {value}"


def _way(now: PathView, then: PathView | None, plan: str | None) -> str:
    rows = [("Now", *_counts(now))]
    if then is not None and plan is not None:
        rows.append((link(f"With {plan}", place(f"plans/{plan}")), *_counts(then)))
    shown = table_html(("!", "messages#", "longest#", "relays#", "wanted at#"), rows)
    hops = ", ".join(f"{hop.source} → {hop.target}" for hop in now.hops[:SHOWN_MAX])
    more = f" and {len(now.hops) - SHOWN_MAX} more" if len(now.hops) > SHOWN_MAX else ""
    if not now.wanted_at:
        return shown + empty("Nobody wants this topic now.")
    return f"{shown}<p class='mw-quiet'>{escape(hops or 'It stays at its broker')}{more}</p>"


def _counts(path: PathView) -> tuple[int, int, int, int]:
    longest = max((hop.number for hop in path.hops), default=0)
    return len(path.hops), longest, len(path.relays), len(path.wanted_at)


def _broker(one: BrokerState, state: NetworkState, clients: ClientPage, topics: TopicPage) -> str:
    links = [link for link in state.links if one.broker in link]
    if not one.is_alive:
        since = f" since {clock(one.lost_since_us)}" if one.lost_since_us else ""
        rows = [("State", f"lost{since}"), ("Neighbours", len(links)), ("Clients", UNKNOWN)]
        return f"<h2>{escape(one.broker)}</h2>{table_html(('!', ''), rows)}"
    rows = [
        ("State", chip(one.state or "well", "good")),
        ("Neighbours", len(links)),
        ("Clients", f"{one.clients:,} connected, {counted(one.sessions, 'session')}"),
        ("Messages", f"{rate(one.published_per_s)} in, {rate(one.delivered_per_s)} out"),
        ("From brokers", rate(one.carried_per_s)),
        ("Waiting", f"{one.queued:,} messages"),
    ]
    shown = f"<h2>{escape(one.broker)}</h2>{table_html(('!', ''), rows)}"
    if topics.topics:
        wanted = [(topic.filter, topic.wanted) for topic in topics.topics]
        title = f"topics ({topics.total:,})"
        shown += table_html((title, "wanted#"), wanted)
    if clients.clients:
        title = f"clients ({clients.total:,})"
        address = place("clients", broker=one.broker)
        rows_of = [(each.client, each.subscriptions) for each in clients.clients]
        shown += table_html((title, "filters#"), rows_of) + link("all of them", address)
    return shown
