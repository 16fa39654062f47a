"""What brokers count, from look to look: rates of brokers and links now, and the last hour."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

import msgspec

from meshwright.live.operating.control import TrafficView
from meshwright.live.telemetry.meter import HandOvers
from meshwright.model.times import SECOND_US
from meshwright.protocol.inspection import BrokerView
from meshwright.protocol.reconfiguration.topic_watch import TopicCohesion

# An hour of looks, five seconds apart.
POINTS_MAX = 720

Views = Mapping[str, BrokerView]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The network at one look; rates are since the look before.

    published: messages of clients. delivered: messages to clients. carried: messages between
    brokers for them, of which relayed came to brokers that do not want them. delays: of what comes
    from another broker, as its hops times half a round trip with a neighbour, both measured.
    k_held: by how many ways the brokers of the weakest topic are joined, k at most, if the design
    promises a k.
    """

    time_us: int
    brokers: int
    clients: int
    published_per_s: float
    delivered_per_s: float
    carried_per_s: float
    relayed_per_s: float
    dropped_per_s: float
    messages_per_delivery: float | None
    delay_p50_ms: float | None
    delay_p99_ms: float | None
    k_held: int | None


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Points, oldest first, and what brokers have counted since they started.

    dropped: messages by the reason. hand_overs: sessions that went to another broker, by mode.
    waiting: messages that are stored for clients now. k: by how many ways a topic's brokers are to
    be joined, if the design promises that; weak_topics: those that are not, the weakest first.
    """

    points: tuple[Point, ...]
    dropped: dict[str, int]
    hand_overs: dict[str, HandOvers]
    waiting: int
    k: int | None
    weak_topics: tuple[TopicCohesion, ...]


class BrokerRates(NamedTuple):
    """Messages a second: from clients, to clients, and from other brokers."""

    published: float = 0.0
    delivered: float = 0.0
    carried: float = 0.0


class Rates(NamedTuple):
    """What went on between two looks, by broker and by link (its ends, sorted)."""

    brokers: dict[str, BrokerRates]
    links: dict[tuple[str, str], float]


class _Look(NamedTuple):
    time_us: int
    traffic: Mapping[str, TrafficView]


class FiguresKept:
    """One thread looks, anybody asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: deque[Point] = deque(maxlen=POINTS_MAX)
        self._last: _Look | None = None
        self.rates = Rates({}, {})

    def see(self, now_us: int, traffic: Mapping[str, TrafficView], views: Views) -> None:
        """One more look at all brokers that answer."""
        former, self._last = self._last, _Look(now_us, traffic)
        if former is None or now_us <= former.time_us:
            return
        seconds = (now_us - former.time_us) / SECOND_US
        pairs = [
            (former.traffic[name], now)
            for name, now in traffic.items()
            if name in former.traffic and _counts_on(former.traffic[name], now)
        ]
        rates = _rates(pairs, seconds)
        with self._lock:
            self.rates = rates
            self._points.append(_point(now_us, rates, pairs, seconds, views=views))

    def figures(self, views: Views, since_us: int = 0) -> Figures:
        """Points after a time, and the counts of the last look."""
        with self._lock:
            points = tuple(one for one in self._points if one.time_us > since_us)
            last = {} if self._last is None else self._last.traffic
        dropped: Counter[str] = Counter()
        for one in last.values():
            dropped.update(one.dropped)
        weak = {one.topic: one for view in views.values() for one in view.weak_topics}
        return Figures(
            points=points,
            dropped=dict(dropped.most_common()),
            hand_overs=_hand_overs(last.values()),
            waiting=sum(one.queued for view in views.values() for one in view.sessions),
            k=_promised_k(views),
            weak_topics=tuple(sorted(weak.values(), key=lambda one: (one.held, one.topic))),
        )


def _counts_on(former: TrafficView, now: TrafficView) -> bool:
    """Whether a broker was not started again meanwhile; then it counts from nothing."""
    return now.published >= former.published and now.delivered >= former.delivered


def _rates(pairs: Iterable[tuple[TrafficView, TrafficView]], seconds: float) -> Rates:
    brokers: dict[str, BrokerRates] = {}
    links: defaultdict[tuple[str, str], float] = defaultdict(float)
    for former, now in pairs:
        came = {
            peer: (count - former.by_peer.get(peer, 0)) / seconds
            for peer, count in now.by_peer.items()
        }
        brokers[now.broker] = BrokerRates(
            (now.published - former.published) / seconds,
            (now.delivered - former.delivered) / seconds,
            sum(came.values()),
        )
        for peer, rate in came.items():
            links[link_of(now.broker, peer)] += rate
    return Rates(brokers, dict(links))


def link_of(one: str, other: str) -> tuple[str, str]:
    """The name of a link, whichever end is named first."""
    return (one, other) if one < other else (other, one)


def _point(
    now_us: int,
    rates: Rates,
    pairs: list[tuple[TrafficView, TrafficView]],
    seconds: float,
    *,
    views: Views,
) -> Point:
    brokers = rates.brokers.values()
    delivered, carried = sum(one.delivered for one in brokers), sum(one.carried for one in brokers)
    delays = _delays_ms(pairs, views)
    return Point(
        time_us=now_us,
        brokers=len(views),
        clients=sum(one.is_connected for view in views.values() for one in view.sessions),
        published_per_s=sum(one.published for one in brokers),
        delivered_per_s=delivered,
        carried_per_s=carried,
        relayed_per_s=sum(_relayed(now) - _relayed(former) for former, now in pairs) / seconds,
        dropped_per_s=sum(
            sum(now.dropped.values()) - sum(former.dropped.values()) for former, now in pairs
        )
        / seconds,
        messages_per_delivery=carried / delivered if delivered else None,
        delay_p50_ms=quantile(delays, 0.5),
        delay_p99_ms=quantile(delays, 0.99),
        k_held=_held(views),
    )


def _relayed(view: TrafficView) -> int:
    return 0 if view.carried is None else view.carried.relayed


def _delays_ms(pairs: Iterable[tuple[TrafficView, TrafficView]], views: Views) -> dict[float, int]:
    """Estimated delays of what arrived, and how many had each."""
    delays: Counter[float] = Counter()
    for former, now in pairs:
        view = views.get(now.broker)
        near = {} if view is None else view.round_trips_ms
        trips = [near[name] for name in (view.neighbours if view else ()) if name in near]
        if not trips:
            continue
        hop_ms = fmean(trips) / 2
        for hops, count in now.by_hops.items():
            delays[hops * hop_ms] += count - former.by_hops.get(hops, 0)
    return delays


def quantile(counts: Mapping[float, int], share: float) -> float | None:
    """The least value that at least this share does not exceed; None of nothing."""
    total, seen = sum(counts.values()), 0
    if not total:
        return None
    for value in sorted(counts):
        seen += counts[value]
        if seen >= share * total:
            return value
    return None


def _hand_overs(traffic: Iterable[TrafficView]) -> dict[str, HandOvers]:
    total: dict[str, HandOvers] = {}
    for view in traffic:
        for mode, one in view.hand_overs.items():
            sum_ = total.get(mode, HandOvers())
            total[mode] = HandOvers(
                sessions=sum_.sessions + one.sessions,
                stored=sum_.stored + one.stored,
                replayed=sum_.replayed + one.replayed,
            )
    return dict(sorted(total.items()))


def _held(views: Views) -> int | None:
    k = _promised_k(views)
    weak = [one.held for view in views.values() for one in view.weak_topics]
    return None if k is None else min((k, *weak))


def _promised_k(views: Views) -> int | None:
    newest = max(views.values(), key=lambda view: view.epoch, default=None)
    k = None if newest is None else newest.overlay.params.get("k")
    return k if isinstance(k, int) else None
