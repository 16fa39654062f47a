"""The network as its brokers say it is: who is there, how busy, joined how, and who wants what."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from meshwright.manager.views.figures import BrokerRates, Rates, link_of
from meshwright.model.designs import founded_as
from meshwright.model.overlay import Parameter
from meshwright.model.wording import counted
from meshwright.protocol.inspection import BrokerView

TOPIC_BROKERS_SHOWN_MAX = 500


class BrokerState(msgspec.Struct, frozen=True, kw_only=True):
    """One broker of the network; adaptation: whether it fits its tree to its traffic by itself.

    state: what is special about it, in words; "" if nothing is. Rates are messages a second: from
    clients, to clients, from other brokers. Of a broker that is not alive nothing is known, though
    its sessions wait there; lost_since_us: when the manager first had no answer, or 0.
    """

    broker: str
    epoch: int
    is_alive: bool
    clients: int
    adaptation: str
    state: str = ""
    sessions: int = 0
    subscriptions: int = 0
    queued: int = 0
    published_per_s: float = 0.0
    delivered_per_s: float = 0.0
    carried_per_s: float = 0.0
    lost_since_us: int = 0


class LinkTraffic(msgspec.Struct, frozen=True):
    """What goes over a link, in messages a second, both ways together."""

    one: str
    other: str
    messages_per_s: float


class NetworkState(msgspec.Struct, frozen=True, kw_only=True):
    """The network as its brokers say it is; links: of the overlay in force.

    positions: where brokers sit on the geometry's key space, if the design has one. traffic: of
    links and of brokers that talk past them, busiest first.
    """

    epoch: int
    design: str
    links: tuple[tuple[str, str], ...]
    brokers: tuple[BrokerState, ...]
    params: dict[str, Parameter] = {}
    positions: dict[str, int] | None = None
    traffic: tuple[LinkTraffic, ...] = ()


class TopicState(msgspec.Struct, frozen=True, kw_only=True):
    """A filter that clients want, by how many, and at which brokers.

    wanted: at all brokers, or at the one that was asked for.
    """

    filter: str
    wanted: int
    brokers: tuple[str, ...]


class TopicPage(msgspec.Struct, frozen=True, kw_only=True):
    """The first of all filters that were asked for, the most wanted first."""

    total: int
    topics: tuple[TopicState, ...]


def network_state(
    views: Mapping[str, BrokerView], rates: Rates, lost_since_us: Mapping[str, int]
) -> NetworkState:
    """All brokers of the newest overlay; those that do not answer are not alive."""
    newest = max(views.values(), key=lambda view: view.epoch)
    overlay = newest.overlay
    brokers = tuple(
        _broker(views[name], rates.brokers.get(name, BrokerRates()))
        if name in views
        else _lost(name, lost_since_us.get(name, 0))
        for name in sorted(overlay.brokers)
    )
    busiest = sorted(rates.links.items(), key=lambda link: (-link[1], link[0]))
    return NetworkState(
        epoch=newest.epoch,
        design=founded_as(overlay),
        links=tuple(link_of(*link) for link in overlay.links),
        brokers=brokers,
        params=overlay.params,
        positions=overlay.positions,
        traffic=tuple(LinkTraffic(*link, round(rate, 2)) for link, rate in busiest if rate),
    )


def topic_page(
    views: Mapping[str, BrokerView],
    *,
    search: str = "",
    broker: str | None = None,
    limit: int = 100,
) -> TopicPage:
    """Filters that have a text in them; those of one broker, as its clients want them."""
    found: dict[str, dict[str, int]] = {}
    for view in views.values():
        for interest in view.interests:
            if search.lower() in interest.filter.lower():
                found.setdefault(interest.filter, {})[view.broker] = interest.count
    chosen = [
        TopicState(
            filter=text,
            wanted=sum(counts.values()) if broker is None else counts[broker],
            brokers=tuple(sorted(counts))[:TOPIC_BROKERS_SHOWN_MAX],
        )
        for text, counts in found.items()
        if broker is None or broker in counts
    ]
    chosen.sort(key=lambda one: (-one.wanted, one.filter))
    return TopicPage(total=len(chosen), topics=tuple(chosen[:limit]))


def _lost(name: str, since_us: int) -> BrokerState:
    return BrokerState(
        broker=name,
        epoch=-1,
        is_alive=False,
        clients=0,
        adaptation="",
        state="does not answer",
        lost_since_us=since_us,
    )


def _broker(view: BrokerView, rates: BrokerRates) -> BrokerState:
    return BrokerState(
        broker=view.broker,
        epoch=view.epoch,
        is_alive=True,
        clients=sum(one.is_connected for one in view.sessions),
        adaptation=view.adaptation,
        state=_told(view),
        sessions=len(view.sessions),
        subscriptions=sum(len(one.subscriptions) for one in view.sessions),
        queued=sum(one.queued for one in view.sessions),
        published_per_s=round(rates.published, 2),
        delivered_per_s=round(rates.delivered, 2),
        carried_per_s=round(rates.carried, 2),
    )


def _told(view: BrokerView) -> str:
    told = []
    if view.disk_trouble is not None:
        told.append(view.disk_trouble)
    if view.is_emptying:
        told.append("is drained")
    if view.plan is not None:
        told.append(f"takes part in plan {view.plan.name}")
    if view.sends_away:
        told.append(f"sends {counted(view.sends_away, 'client')} away")
    full = sum(one.is_full for one in view.sessions)
    if full:
        told.append(counted(full, "full queue"))
    return ", ".join(told)
