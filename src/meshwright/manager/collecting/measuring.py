"""Reports after an order: messages between brokers for each that a client got, as brokers count."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from meshwright.live.operating.control import TrafficView
from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.manager.network.running import RunningNetwork

# By broker: what it has counted so far, or in a time.
Traffic = Mapping[str, CarriedCounts]


def traffic_between(before: Traffic, after: Traffic) -> dict[str, CarriedCounts]:
    """What each broker counted between two looks at all of them."""
    fields = CarriedCounts.__struct_fields__
    return {
        name: CarriedCounts(
            **{field: getattr(now, field) - getattr(before[name], field) for field in fields}
        )
        for name, now in after.items()
    }


def message_count(traffic: Traffic) -> int:
    """Messages between brokers, as the closed form counts them."""
    return sum(one.entering + one.wanted + one.relayed for one in traffic.values())


class Look(NamedTuple):
    """What all brokers had counted at a time: carried between them, delivered to clients."""

    time_us: int
    carried: Traffic
    delivered: int


def look(network: RunningNetwork, now_us: int) -> Look:
    """Ask all brokers; those that count nothing are left out."""
    return look_of(traffic_of(network), now_us)


def traffic_of(network: RunningNetwork) -> dict[str, TrafficView]:
    """What all brokers have counted."""
    return {
        name: control.get("/traffic", TrafficView) for name, control in network.controls().items()
    }


def look_of(views: Mapping[str, TrafficView], now_us: int) -> Look:
    """What was counted of messages between brokers, without those that count nothing."""
    counting = [one for one in views.values() if one.carried is not None]
    return Look(
        now_us,
        {one.broker: one.carried for one in counting if one.carried is not None},
        sum(one.delivered for one in counting),
    )


class Measuring:
    """Looks of the last while; begins anew when asked to, or when brokers came, left or restarted.

    A look in which a broker did not answer is left out: on a machine that is busy that happens, and
    nothing is lost by it. length_us: for how long it looks before it answers, and for how long a
    broker may be silent before it counts as one that left.
    """

    def __init__(self, length_us: int) -> None:
        self._length_us = length_us
        self._looks: deque[Look] = deque()
        # One thread looks, another brings a change to its end, and anybody asks.
        self._lock = threading.Lock()

    def forget(self) -> None:
        """What was seen so far was of another overlay."""
        with self._lock:
            self._looks.clear()

    def see(self, seen: Look) -> None:
        """One more look."""
        with self._lock:
            looks = self._looks
            if looks and set(seen.carried) < set(looks[-1].carried):
                if seen.time_us - looks[-1].time_us < self._length_us:
                    return
                looks.clear()
            elif looks and not _goes_on(looks[-1], seen):
                looks.clear()
            looks.append(seen)
            while len(looks) > 2 and looks[1].time_us <= seen.time_us - self._length_us:
                looks.popleft()

    def cost(self) -> float | None:
        """Messages for a delivery; None before it has looked long enough, or if none was made."""
        with self._lock:
            if not self._looks:
                return None
            first, last = self._looks[0], self._looks[-1]
        delivered = last.delivered - first.delivered
        if last.time_us - first.time_us < self._length_us or not delivered:
            return None
        return message_count(traffic_between(first.carried, last.carried)) / delivered


def _goes_on(former: Look, seen: Look) -> bool:
    """Whether the same brokers count on; who was started again counts from nothing."""
    if set(former.carried) != set(seen.carried) or seen.delivered < former.delivered:
        return False
    return all(
        message_count({name: now}) >= message_count({name: former.carried[name]})
        for name, now in seen.carried.items()
    )
