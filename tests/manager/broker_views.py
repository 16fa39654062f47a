"""Brokers as they would say they are, for what looks at them and asks nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.live.operating.control import TrafficView
from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.model.overlay import Overlay
from meshwright.protocol.inspection import (
    BrokerView,
    InterestView,
    SessionView,
    SubscriptionView,
)


def session(client: str, *filters: str, is_connected: bool = True, queued: int = 0) -> SessionView:
    return SessionView(
        client=client,
        is_connected=is_connected,
        expiry_s=60,
        subscriptions=tuple(SubscriptionView(one, 1) for one in filters),
        queued=queued,
        in_flight=0,
    )


def view(
    broker: str, overlay: Overlay, sessions: Iterable[SessionView] = (), trip_ms: float = 2.0
) -> BrokerView:
    found = tuple(sessions)
    wanted = [one.filter for each in found for one in each.subscriptions]
    joined = {name for link in overlay.links if broker in link for name in link} - {broker}
    return BrokerView(
        broker=broker,
        epoch=1,
        overlay=overlay,
        alive=overlay.brokers,
        removed=(),
        neighbours=tuple(sorted(joined)),
        sessions=found,
        interests=tuple(InterestView(one, wanted.count(one)) for one in dict.fromkeys(wanted)),
        queues=(),
        plan=None,
        star=None,
        is_emptying=False,
        retained=0,
        kept=0,
        round_trips_ms=dict.fromkeys(joined, trip_ms),
    )


def traffic(
    broker: str,
    *,
    published: int = 0,
    delivered: int = 0,
    relayed: int = 0,
    by_peer: dict[str, int] | None = None,
    by_hops: dict[int, int] | None = None,
    dropped: dict[str, int] | None = None,
) -> TrafficView:
    return TrafficView(
        broker=broker,
        sent={},
        carried=CarriedCounts(relayed=relayed),
        delivered=delivered,
        published=published,
        by_peer=by_peer or {},
        by_hops=by_hops or {},
        dropped=dropped or {},
    )
