"""Overview: how the network is, now and over the last hour, in ten seconds."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import NamedTuple

import msgspec
from nicegui import ui

from meshwright.dashboard.components import (
    Trend,
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
from meshwright.dashboard.wording import change, milliseconds, number, rate
from meshwright.manager.circle.status import Status
from meshwright.manager.orders.saved_plans import PlanEntry, PlanState
from meshwright.manager.views.figures import Figures, Point
from meshwright.manager.views.network_state import BrokerState, NetworkState
from meshwright.model.times import SECOND_US
from meshwright.model.wording import counted

SHOWN_MAX = 20


class Figure(NamedTuple):
    """One card: what it is called, what it shows now, and its lines over time."""

    title: str
    told: Callable[[Point], str]
    lines: dict[str, Callable[[Point], float | None]]
    unit: str = ""


FIGURES = (
    Figure("Brokers", lambda at: str(at.brokers), {"brokers": lambda at: at.brokers}),
    Figure("Clients", lambda at: f"{at.clients:,}", {"clients": lambda at: at.clients}),
    Figure(
        "Messages in and out",
        lambda at: f"{number(at.published_per_s)} → {rate(at.delivered_per_s)}",
        {"in": lambda at: at.published_per_s, "out": lambda at: at.delivered_per_s},
        "/s",
    ),
    Figure(
        "Between brokers, per delivery",
        lambda at: number(at.messages_per_delivery),
        {"per delivery": lambda at: at.messages_per_delivery},
    ),
    Figure(
        "Relays, to who wants none of it",
        lambda at: rate(at.relayed_per_s),
        {"relays": lambda at: at.relayed_per_s},
        "/s",
    ),
    Figure(
        "Delay p50 and p99, estimated",
        lambda at: f"{number(at.delay_p50_ms)} / {milliseconds(at.delay_p99_ms)}",
        {"p50": lambda at: at.delay_p50_ms, "p99": lambda at: at.delay_p99_ms},
        " ms",
    ),
    Figure(
        "Dropped",
        lambda at: rate(at.dropped_per_s),
        {"dropped": lambda at: at.dropped_per_s},
        "/s",
    ),
    Figure(
        "k held by the weakest topic",
        lambda at: "not promised" if at.k_held is None else number(at.k_held),
        {"k held": lambda at: at.k_held},
    ),
)


def build(house: House, _frame: Frame) -> Refresh:
    """Cards and lists, to be filled."""
    watch = house.watch
    ui.html("Overview", sanitize=False, tag="h1")
    story = ui.html("", sanitize=False).classes("mw-story")
    with ui.element("section").classes("mw-grid").props("aria-label=Figures"):
        cards = [_card(one) for one in FIGURES]
    with ui.element("section").classes("mw-two"):
        brokers = _listed("Brokers")
        with ui.element("div").classes("mw-stack"):
            topics, drops = _listed("Topics that hold least"), _listed("Dropped, by reason")
            manager = _listed("The manager")
    last_us = 0

    async def refresh() -> None:
        nonlocal last_us
        state, figures = await watch.network(), await watch.figures()
        status, plans = await watch.status(), await watch.plans()
        point = figures.points[-1] if figures.points else None
        set_html(story, _story(state, point, plans))
        later = [one for one in figures.points if one.time_us > last_us]
        for one, (value, trend) in zip(FIGURES, cards, strict=True):
            if point is not None:
                set_text(value, one.told(_as_of(state, point)))
            trend.push([_values(one, at) for at in later])
        last_us = later[-1].time_us if later else last_us
        set_html(brokers, _brokers(state))
        set_html(topics, _weak(figures, state.design))
        set_html(drops, _drops(figures))
        set_html(manager, _manager(status))

    return refresh


def _card(figure: Figure) -> tuple[ui.label, Trend]:
    with ui.element("div").classes("mw-card"):
        ui.label(figure.title).classes("mw-label")
        value = ui.label("-").classes("mw-value")
        return value, Trend(tuple(figure.lines), [], figure.unit)


def _listed(title: str) -> ui.html:
    with ui.element("div").classes("mw-card"):
        ui.html(title, sanitize=False, tag="h2")
        return ui.html("", sanitize=False).classes("mw-table")


def _values(figure: Figure, point: Point) -> list[float | None]:
    values = (line(point) for line in figure.lines.values())
    rounded = [None if value is None else float(f"{value:.4g}") for value in values]
    return [point.time_us / SECOND_US, *rounded]


def _there(state: NetworkState) -> tuple[int, int]:
    """Brokers that answer, and clients that are connected to them."""
    return sum(one.is_alive for one in state.brokers), sum(one.clients for one in state.brokers)


def _as_of(state: NetworkState, point: Point) -> Point:
    """The newest point with those who are there by the look that the sentences tell of.

    Points are seconds older: beside the sentence a card would still count a broker that is lost.
    """
    brokers, clients = _there(state)
    return msgspec.structs.replace(point, brokers=brokers, clients=clients)


def _story(state: NetworkState, point: Point | None, plans: tuple[PlanEntry, ...]) -> str:
    """The network in a few sentences, for somebody who has never seen it."""
    lost = [one.broker for one in state.brokers if not one.is_alive]
    alive, clients = _there(state)
    who = f"<b>{counted(alive, 'broker')}</b>, joined as <b>{state.design}</b>"
    told = [f"{who}, serve{'s' if alive == 1 else ''} <b>{counted(clients, 'client')}</b>."]
    if lost:
        names = ", ".join(lost[:5]) + (" and more" if len(lost) > 5 else "")
        told.append(f"{chip('lost', 'bad')} {escape(names)}.")
    if point is not None and point.messages_per_delivery is not None:
        told.append(
            f"{number(point.published_per_s)} messages a second come in and "
            f"{number(point.delivered_per_s)} go out; each delivery costs "
            f"<b>{number(point.messages_per_delivery)}</b> messages between brokers."
        )
    elif point is not None:
        told.append("Nobody gets a message at the moment.")
    else:
        told.append("What goes through it is known in a few seconds.")
    told.append(_waiting(plans))
    return " ".join(told)


def _waiting(plans: tuple[PlanEntry, ...]) -> str:
    newest = plans[-1] if plans else None
    if newest is None:
        return f"There is no plan yet; {link('how to make one', place('plans'))}."
    name = link(f"plan {newest.id}", place(f"plans/{newest.id}"))
    if newest.state is PlanState.PROPOSED and newest.predicted is not None:
        saves = change(newest.predicted.before, newest.predicted.after)
        return f"By {name} that would be <b>{saves}</b>; it waits for a decision."
    return f"The last is {name}: {newest.state.value}."


def _brokers(state: NetworkState) -> str:
    busiest = sorted(
        state.brokers, key=lambda one: (one.is_alive, -(one.carried_per_s + one.delivered_per_s))
    )[:SHOWN_MAX]
    # Brokers that change places every other second are found by nobody.
    shown = {one.broker for one in busiest}
    ordered = sorted(state.brokers, key=lambda one: one.is_alive)
    rows = [
        (
            link(one.broker, place("overlay", broker=one.broker)),
            one.clients,
            rate(one.published_per_s),
            rate(one.delivered_per_s),
            rate(one.carried_per_s),
            _special(one),
        )
        for one in ordered
        if one.broker in shown
    ]
    more = len(state.brokers) - len(rows)
    end = f"<p class='mw-quiet'>and {counted(more, 'broker')} with less to do</p>" if more else ""
    return table_html(("broker!", "clients#", "in#", "out#", "from brokers#", "!"), rows) + end


def _special(one: BrokerState) -> str:
    if not one.is_alive:
        return chip("lost", "bad")
    return chip(one.state, "warn") if one.state else ""


def _weak(figures: Figures, design: str) -> str:
    if figures.k is None:
        return empty(
            f"Brokers joined as {design} promise no k; designs such as gm2 and best keep a topic's "
            "brokers joined whichever of them dies."
        )
    if not figures.weak_topics:
        return empty(f"Every topic that is published holds k = {figures.k}.")
    rows = [
        (
            one.topic,
            one.receivers,
            chip(f"{one.held} of {one.k}", "bad" if not one.held else "warn"),
        )
        for one in figures.weak_topics[:SHOWN_MAX]
    ]
    return table_html(("topic", "brokers#", "ways held!"), rows)


def _drops(figures: Figures) -> str:
    if not figures.dropped:
        return empty("Nothing was dropped since brokers started.")
    rows = [(reason, f"{count:,}") for reason, count in figures.dropped.items()]
    return table_html(("reason", "messages#"), rows)


def _manager(status: Status) -> str:
    rows = [
        ("Telemetry", status.telemetry),
        ("Decides", status.policy),
        ("Lease", status.lease),
        ("Last plan", status.last),
        *(("Silent", f"{name}: {why}") for name, why in status.silent.items()),
        *((("Trouble", status.trouble),) if status.trouble else ()),
    ]
    return table_html(("what!", "how"), rows)
