"""Counts what brokers send each other on a tree, by kind and time.

Kinds are counted in hops. Besides, filters and events that move are counted as messages, however
far they go, and so are changes of filters that leaves make: that is what the paper's equations are
about. [mobility, 4.3]
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from meshwright.protocol.assembly import MESSAGES
from meshwright.protocol.mobility.messages import (
    MoveAsk,
    MoveBegun,
    MoveEnd,
    MoveOffer,
    MoveReady,
    MoveSeen,
    MoveStored,
)
from meshwright.protocol.mobility.proxies import ProxyAnswer
from meshwright.protocol.mobility.watching import Watch, WatchOver
from meshwright.protocol.mqtt.packets import Publish

# Each of these counts one, however far it goes.
ONE_EACH = ("publication", "induced", "advertisement")
OF_CLASSES = {
    "publication": "publication",
    "subscription": "induced",
    "advertisement": "advertisement",
    "mobility": "handshake",
}

KINDS: dict[type, str] = {
    **{kind: OF_CLASSES[kind.counts_as] for kind in MESSAGES if kind.counts_as in OF_CLASSES},
    MoveOffer: "request",
    MoveAsk: "request",
    MoveReady: "request",
    MoveBegun: "subscriptions",
    Watch: "subscriptions",
    WatchOver: "request",
    MoveEnd: "stored",
    MoveStored: "exchange",
    MoveSeen: "exchange",
    ProxyAnswer: "home",
}


class Tally:
    """Counters of windows of time; brokers are numbered level by level, each with its children."""

    def __init__(self, names: tuple[str, ...], fanout: int, start_us: int, window_us: int) -> None:
        self._numbers = {name: number for number, name in enumerate(names)}
        self._fanout = fanout
        self._start_us = start_us
        self._window_us = window_us
        self._windows: dict[int, Counter[str]] = {}
        self._now: Counter[str] = Counter()
        self._ends_us = start_us
        self.hops = cache(self._hops)

    def window(self, number: int) -> Counter[str]:
        """What was counted in a window."""
        return self._windows.setdefault(number, Counter())

    def count(self, now_us: int, kind: str, amount: int = 1) -> None:
        """Add to the window of a time; times never go back."""
        if now_us >= self._ends_us:
            number = (now_us - self._start_us) // self._window_us
            self._ends_us = self._start_us + (number + 1) * self._window_us
            self._now = self.window(number)
        self._now[kind] += amount

    def sent(self, now_us: int, source: str, target: str, body: object) -> None:
        """A broker sends a message to another."""
        kind = KINDS.get(type(body))
        if kind is None:
            return
        if kind in ONE_EACH:
            self.count(now_us, kind)
            if kind == "induced" and self._is_leaf(source):
                self.count(now_us, "leaf changes")
            return
        amount = 1
        if isinstance(body, MoveBegun):
            amount = len(body.subscriptions or ())
            self.count(now_us, "filters moved", amount)
        elif isinstance(body, Watch):
            amount = len(body.filters)
        elif isinstance(body, MoveEnd):
            seen = body.session_state
            waiting = (*seen.queue, *(one for _, _, one in seen.in_flight))
            amount = sum(bool(one.publication.topic) for one in waiting)
            self.count(now_us, "events moved", amount)
        elif isinstance(body, ProxyAnswer):
            if not isinstance(body.packet, Publish):
                self.count(now_us, "handshake", self.hops(source, target))
                return
            self.count(now_us, "forwarded")
        self.count(now_us, kind, amount * self.hops(source, target))

    def _is_leaf(self, name: str) -> bool:
        return self._fanout * self._numbers[name] + 1 >= len(self._numbers)

    def _hops(self, source: str, target: str) -> int:
        one, other = self._numbers[source], self._numbers[target]
        hops = 0
        while one != other:
            # The one with the higher number is never above the other.
            one, other = min(one, other), (max(one, other) - 1) // self._fanout
            hops += 1
        return hops
