"""Placement: sends clients to brokers where others want the same topics [DYNATOPS, Alg. 1].

The brokers of a cluster tell each other every period what their clients want and how many they are.
One broker after the other then looks at some of its clients, and sends a client away if another
broker suits it better by enough and has room. Only one broker does so at a time, and it counts each
client sent at once, so that two brokers do not swap theirs. A client that comes back stays, and
none is sent again for a while.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from meshwright.filters.filter import Filter
from meshwright.model.designs import PlacementRule
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.redirects import Redirects
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.sessions import Sessions

TICK = ("placement",)
DIGEST_BYTES = 4
SHARED = "$share/"
# A view that was not renewed for so many periods is ignored.
PERIODS_MAX = 3
# As in planning: a gain that is too small only by rounding is enough.
ROUNDING = 1e-9


class PlacementSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When clients are sent to brokers where others want the same topics.

    every_us: T_update, the period.
    gain_min: theta, the least gain in utility, as a share of the topics that a client wants.
    load_weight: w_l, how much a broker's load counts against it.
    load_slack: by what share a broker may exceed the mean number of clients of its cluster.
    cluster_size: how many brokers there are in a cluster.
    rest_us: how long a client that was sent away is left alone.
    looks_max: how many clients a broker looks at in its turn.
    topics_max: how many topics a summary has at most.
    """

    rule: PlacementRule = "none"
    every_us: int = 10_000_000
    gain_min: float = 0.2
    load_weight: float = 1.0
    load_slack: float = 0.1
    cluster_size: int = 8
    rest_us: int = 600_000_000
    looks_max: int = 256
    topics_max: int = 8_192


class Summary(PeerMessage, frozen=True, gc=False, tag=129):
    """A broker tells its cluster what its clients want, and how many they are.

    topics: digests of their filters, one after another.
    load: how many subscriptions they have together.
    is_open: the broker takes more clients.
    """

    counts_as = "placement"

    topics: bytes
    clients: int
    load: int
    is_open: bool


class PlacementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports that a client is better off at another broker; gain: in utility."""

    client: str
    target: str
    gain: float


@dataclass(slots=True)
class View:
    """A broker of the cluster as its Summary says, with the clients sent there since."""

    topics: set[bytes]
    clients: int
    load: int
    is_open: bool
    told_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementAround:
    """What placement needs of the rest of the broker.

    others: the other brokers that are believed alive.
    counts: how many sessions and groups here want each filter.
    is_emptying: True if this broker takes no more clients.
    """

    send: Callable[[Turn, str, Any], None]
    others: Callable[[], tuple[str, ...]]
    counts: Callable[[], dict[Filter, int]]
    is_emptying: Callable[[], bool]


class Placement:
    """One broker's part in placement; without a rule it does nothing."""

    def __init__(
        self,
        me: str,
        settings: PlacementSettings,
        sessions: Sessions,
        redirects: Redirects,
        around: PlacementAround,
    ) -> None:
        self._me = me
        self._settings = settings
        self._sessions = sessions
        self._redirects = redirects
        self._around = around
        self._views: dict[str, View] = {}
        self._resting: dict[str, int] = {}
        self._looked_at = ""

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (on(Summary, self.heard),)

    def started(self, turn: Turn) -> None:
        """After a start, begin to tell others, if there is a rule."""
        if self._settings.rule == "similarity":
            self._wake(turn)

    def heard(self, turn: Turn, peer: str, summary: Summary) -> None:
        """Another broker tells what its clients want."""
        digests = summary.topics
        topics = {
            digests[place : place + DIGEST_BYTES] for place in range(0, len(digests), DIGEST_BYTES)
        }
        self._views[peer] = View(
            topics, summary.clients, summary.load, summary.is_open, turn.now_us
        )

    def tick(self, turn: Turn) -> None:
        """Tell the cluster; half a period later, if it is this broker's turn, look at clients."""
        cluster = self._cluster()
        own = self._own_view(turn.now_us)
        period, is_second_half = divmod(turn.now_us // self._half_us, 2)
        if not is_second_half:
            self._tell(turn, cluster, own)
        elif len(cluster) > 1 and cluster[period % len(cluster)] == self._me:
            self._look(turn, cluster, own)
        self._wake(turn)

    def _tell(self, turn: Turn, cluster: tuple[str, ...], own: View) -> None:
        summary = Summary(b"".join(sorted(own.topics)), own.clients, own.load, own.is_open)
        for peer in cluster:
            if peer != self._me:
                self._around.send(turn, peer, summary)

    def _look(self, turn: Turn, cluster: tuple[str, ...], own: View) -> None:
        """Look at some clients, and send away those that are better off elsewhere."""
        views = self._fresh(turn.now_us, cluster) | {self._me: own}
        if len(views) < len(cluster):
            return  # a broker that was not heard may be the best one for a client
        self._resting = {
            client: until_us for client, until_us in self._resting.items() if until_us > turn.now_us
        }
        counts = {digest(str(one)): count for one, count in self._around.counts().items()}
        for session in self._next_sessions():
            wanted = digests_of(session)
            if session.client in self._resting or not wanted:
                continue
            found = better_broker(self._me, views, wanted, counts, self._settings)
            if found is None or not self._redirects.suggest(turn, session.client, found[0]):
                continue
            target, gain = found
            self._resting[session.client] = turn.now_us + self._settings.rest_us
            turn.report(PlacementRecord(client=session.client, target=target, gain=gain))
            _move(views[self._me], views[target], wanted, counts)

    def _next_sessions(self) -> list[Session]:
        """The connected clients that follow, by name, those looked at last."""
        names = sorted(one.client for one in self._sessions.all() if one.is_connected)
        later = [name for name in names if name > self._looked_at]
        chosen = [*later, *(name for name in names if name <= self._looked_at)]
        chosen = chosen[: self._settings.looks_max]
        self._looked_at = chosen[-1] if chosen else ""
        return [one for name in chosen if (one := self._sessions.find(name)) is not None]

    def _own_view(self, now_us: int) -> View:
        counts = self._around.counts()
        most = sorted(counts, key=lambda one: (-counts[one], str(one)))[: self._settings.topics_max]
        sessions = self._sessions.all()
        return View(
            {digest(str(one)) for one in most},
            len(sessions),
            sum(len(one.subscriptions) for one in sessions),
            not self._around.is_emptying(),
            now_us,
        )

    def _fresh(self, now_us: int, cluster: Collection[str]) -> dict[str, View]:
        oldest_us = now_us - PERIODS_MAX * self._settings.every_us
        return {
            name: view
            for name, view in sorted(self._views.items())
            if name in cluster and view.told_us >= oldest_us
        }

    def _cluster(self) -> tuple[str, ...]:
        """The living brokers of this one's cluster: they are neighbours in order of names."""
        alive = tuple(sorted((*self._around.others(), self._me)))
        size = self._settings.cluster_size
        first = alive.index(self._me) // size * size
        return alive[first : first + size]

    def _wake(self, turn: Turn) -> None:
        turn.timer(TICK, (turn.now_us // self._half_us + 1) * self._half_us)

    @property
    def _half_us(self) -> int:
        return max(self._settings.every_us // 2, 1)


def better_broker(
    me: str,
    views: Mapping[str, View],
    wanted: frozenset[bytes],
    counts: Mapping[bytes, int],
    settings: PlacementSettings,
) -> tuple[str, float] | None:
    """The best broker with room for a client of mine, and the gain; None if it is too small.

    counts: how many of my clients want each topic, this one among them.
    """
    price = settings.load_weight / max(sum(view.load for view in views.values()), 1)
    shared_count = sum(counts.get(one, 0) > 1 for one in wanted)
    own = utility(shared_count, len(wanted), views[me].load - len(wanted), price)
    client_count = sum(view.clients for view in views.values())
    client_max = share_max(client_count, len(views), settings.load_slack)
    ranks = [
        (-utility(len(view.topics & wanted), len(wanted), view.load, price), view.load, name)
        for name, view in views.items()
        if name != me and view.is_open and view.clients < client_max
    ]
    if not ranks:
        return None
    best, _, name = min(ranks)
    gain = -best - own
    return (name, gain) if gain >= settings.gain_min - ROUNDING else None


def utility(shared_count: int, wanted_count: int, load: int, price: float) -> float:
    """Util = |S_b n s_u| / |s_u| - w_l * L_b; price: w_l over the load of all brokers."""
    return shared_count / wanted_count - price * load


def share_max(client_count: int, broker_count: int, slack: float) -> int:
    """How many clients a broker may have."""
    mean = client_count / broker_count
    return max(math.ceil((1.0 + slack) * mean - ROUNDING), math.ceil(mean))


def digest(text: str) -> bytes:
    """A filter in a few bytes; that two filters may have the same costs little."""
    return hashlib.blake2s(text.encode(), digest_size=DIGEST_BYTES).digest()


def digests_of(session: Session) -> frozenset[bytes]:
    """What a client wants, without shared subscriptions, which any broker can serve."""
    return frozenset(digest(text) for text in session.subscriptions if not text.startswith(SHARED))


def _move(here: View, there: View, wanted: Iterable[bytes], counts: dict[bytes, int]) -> None:
    """Update the views for a client that was sent away."""
    wanted = list(wanted)
    here.clients -= 1
    here.load -= len(wanted)
    there.clients += 1
    there.load += len(wanted)
    there.topics.update(wanted)
    for one in wanted:
        counts[one] = counts.get(one, 1) - 1
