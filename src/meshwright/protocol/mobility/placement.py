"""Placement: sends clients to brokers where others want the same topics [DYNATOPS, Alg. 1].

The brokers of a cluster tell each other every period what their clients want and how many they are.
A broker looks at a client that has subscribed or unsubscribed, and sends it away if another broker
suits it better by enough and has room. It also looks at some of its other clients from time to
time. One broker after the other does so, and tells what that changes, so that two do not swap their
clients. A client that comes back stays, and none is sent again for a while. Who connects with
subscriptions is looked at when others no longer count what it wants where it was before.
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
ASK = ("placement ask",)
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
    slot_us: in slots of this time, one after the other of a cluster looks at clients that changed.
    rest_us: how long a client that was sent away is left alone.
    looks_max: how many clients a broker looks at in its turn.
    topics_max: how many topics a summary has at most.
    """

    rule: PlacementRule = "none"
    every_us: int = 10_000_000
    gain_min: float = 0.2
    load_weight: float = 1.0
    load_slack: float = 0.1
    slot_us: int = 500_000
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


class Sent(PeerMessage, frozen=True, gc=False, tag=173):
    """A broker has sent a client to this one, where it is to be left alone for a while."""

    counts_as = "placement"

    client: str


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

    cluster: the living brokers among which clients are sent, this one among them, sorted.
    counts: how many sessions and groups here want each filter.
    is_emptying: True if this broker takes no more clients.
    """

    send: Callable[[Turn, str, Any], None]
    cluster: Callable[[], tuple[str, ...]]
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
        # Clients to look at, and when.
        self._asking: dict[str, int] = {}
        self._has_ask = False

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (on(Summary, self.heard), on(Sent, self._sent_here))

    def started(self, turn: Turn) -> None:
        """After a start, begin to tell others, if there is a rule."""
        if self._settings.rule == "similarity":
            self._wake(turn)

    def connected(self, turn: Turn, client: str) -> None:
        """A client has connected; one that wants something was perhaps elsewhere until now."""
        session = self._sessions.find(client)
        if self._settings.rule == "similarity" and session is not None and session.subscriptions:
            known_us = turn.now_us + 2 * self._settings.every_us
            self._resting[client] = max(self._resting.get(client, 0), known_us)
            self._ask(turn, client, known_us)

    def changed(self, turn: Turn, client: str) -> None:
        """A client wants other topics than before."""
        if self._settings.rule == "similarity":
            self._ask(turn, client, turn.now_us)

    def answer(self, turn: Turn) -> None:
        """In this broker's slot, look at clients for which it is time; tell what that changes."""
        self._has_ask = False
        due = [client for client, at_us in self._asking.items() if at_us <= turn.now_us]
        due = due[: self._settings.looks_max]
        for client in due:
            del self._asking[client]
        found = [one for client in due if (one := self._sessions.find(client)) is not None]
        sessions = [one for one in found if one.is_connected]
        cluster = self._around.cluster()
        if sessions and len(cluster) > 1:
            own = self._own_view(turn.now_us)
            self._look(turn, cluster, own, sessions)
            self._tell(turn, cluster, own)
        self._wake_to_answer(turn)

    def _ask(self, turn: Turn, client: str, at_us: int) -> None:
        self._asking[client] = max(at_us, self._asking.get(client, 0))
        self._wake_to_answer(turn)

    def _wake_to_answer(self, turn: Turn) -> None:
        if self._asking and not self._has_ask:
            self._has_ask = True
            turn.timer(ASK, self._next_slot_us(turn.now_us))

    def _next_slot_us(self, now_us: int) -> int:
        """When it is this broker's turn next, of all in its cluster."""
        cluster, slot_us = self._around.cluster(), self._settings.slot_us
        passed, place = now_us // slot_us + 1, cluster.index(self._me)
        return (passed + (place - passed) % len(cluster)) * slot_us

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
        cluster = self._around.cluster()
        period, is_second_half = divmod(turn.now_us // self._half_us, 2)
        if not is_second_half:
            self._tell(turn, cluster, self._own_view(turn.now_us))
        elif len(cluster) > 1 and cluster[period % len(cluster)] == self._me:
            for client in self._next_clients():
                self._ask(turn, client, turn.now_us)
        self._wake(turn)

    def _tell(self, turn: Turn, cluster: tuple[str, ...], own: View) -> None:
        summary = Summary(b"".join(sorted(own.topics)), own.clients, own.load, own.is_open)
        for peer in cluster:
            if peer != self._me:
                self._around.send(turn, peer, summary)

    def _look(
        self, turn: Turn, cluster: tuple[str, ...], own: View, sessions: list[Session]
    ) -> None:
        """Look at some clients, and send away those that are better off elsewhere."""
        views = self._fresh(turn.now_us, cluster) | {self._me: own}
        if len(views) < len(cluster):
            return  # a broker that was not heard may be the best one for a client
        self._resting = {
            client: until_us for client, until_us in self._resting.items() if until_us > turn.now_us
        }
        counts = {digest(str(one)): count for one, count in self._around.counts().items()}
        for session in sessions:
            wanted = digests_of(session)
            if session.client in self._resting or not wanted:
                continue
            found = better_broker(self._me, views, wanted, counts, self._settings)
            if found is None or not self._redirects.suggest(turn, session.client, found[0]):
                continue
            target, gain = found
            self._resting[session.client] = turn.now_us + self._settings.rest_us
            self._around.send(turn, target, Sent(session.client))
            turn.report(PlacementRecord(client=session.client, target=target, gain=gain))
            _move(views[self._me], views[target], wanted, counts)

    def _sent_here(self, turn: Turn, _peer: str, message: Sent) -> None:
        self._resting[message.client] = turn.now_us + self._settings.rest_us

    def _next_clients(self) -> list[str]:
        """The connected clients that follow, by name, those looked at last."""
        names = sorted(one.client for one in self._sessions.all() if one.is_connected)
        later = [name for name in names if name > self._looked_at]
        chosen = [*later, *(name for name in names if name <= self._looked_at)]
        chosen = chosen[: self._settings.looks_max]
        self._looked_at = chosen[-1] if chosen else ""
        return chosen

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
        if not counts[one]:
            here.topics.discard(one)
