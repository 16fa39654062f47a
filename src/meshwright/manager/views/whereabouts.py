"""Where clients are, since when and why, and where they were before."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping

import msgspec

from meshwright.protocol.inspection import BrokerView, SessionView

# Moves that are remembered: of one client, and of all.
MOVES_MAX = 20
RECENT_MAX = 200
FILTERS_SHOWN_MAX = 50

# Whether its broker sent it is known to that broker alone, and many clients cannot be sent.
CONNECTED = "it connected here, and no plan that the manager knows sent it"
FOUND = "it was here when the manager began to look"


class MoveSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A client was seen at another broker than before."""

    time_us: int
    client: str
    source: str
    target: str
    why: str


class ClientState(msgspec.Struct, frozen=True, kw_only=True):
    """A client's session: where it is, since when and why, what it wants and what waits for it.

    since_us: when the manager saw it there first, or 0 if it came after its last look.
    """

    client: str
    broker: str
    is_connected: bool
    since_us: int
    why: str
    filters: tuple[str, ...]
    subscriptions: int
    queued: int
    in_flight: int
    moves: tuple[MoveSeen, ...]


class ClientPage(msgspec.Struct, frozen=True, kw_only=True):
    """The first of all clients that were asked for; recent: the last moves of any."""

    total: int
    clients: tuple[ClientState, ...]
    recent: tuple[MoveSeen, ...]


class _Stay:
    __slots__ = ("broker", "moves", "since_us", "why")

    def __init__(self, broker: str, since_us: int, why: str) -> None:
        self.broker, self.since_us, self.why = broker, since_us, why
        self.moves: tuple[MoveSeen, ...] = ()


class Whereabouts:
    """One thread looks, anybody asks. What is gone is forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stays: dict[str, _Stay] = {}
        self._recent: deque[MoveSeen] = deque(maxlen=RECENT_MAX)
        self._has_looked = False

    def see(
        self,
        now_us: int,
        views: Mapping[str, BrokerView],
        reasons: Mapping[tuple[str, str], str],
    ) -> None:
        """One more look; reasons: by client and broker, why a plan put it there."""
        at = {session.client: broker for broker, session in _sessions(views).values()}
        with self._lock:
            for client, broker in at.items():
                stay = self._stays.get(client)
                if stay is not None and stay.broker == broker:
                    continue
                by_plan = reasons.get((client, broker))
                why = by_plan or (CONNECTED if self._has_looked else FOUND)
                fresh = self._stays[client] = _Stay(broker, now_us, why)
                if stay is not None:
                    move = MoveSeen(
                        time_us=now_us, client=client, source=stay.broker, target=broker, why=why
                    )
                    fresh.moves = (*stay.moves, move)[-MOVES_MAX:]
                    self._recent.append(move)
            for client in self._stays.keys() - at.keys():
                del self._stays[client]
            self._has_looked = True

    def page(
        self,
        views: Mapping[str, BrokerView],
        *,
        search: str = "",
        broker: str | None = None,
        limit: int = 100,
    ) -> ClientPage:
        """Clients whose name, or a filter of which, has a text in it; those of one broker."""
        wanted = search.lower()
        found = [
            (at, session)
            for _, (at, session) in sorted(_sessions(views).items())
            if (broker is None or at == broker) and _has(session, wanted)
        ]
        with self._lock:
            return ClientPage(
                total=len(found),
                clients=tuple(self._state(at, session) for at, session in found[:limit]),
                recent=tuple(reversed(self._recent)),
            )

    def _state(self, broker: str, session: SessionView) -> ClientState:
        stay = self._stays.get(session.client)
        is_known = stay is not None and stay.broker == broker
        filters = tuple(one.filter for one in session.subscriptions[:FILTERS_SHOWN_MAX])
        return ClientState(
            client=session.client,
            broker=broker,
            is_connected=session.is_connected,
            since_us=stay.since_us if stay is not None and is_known else 0,
            why=stay.why if stay is not None and is_known else "it came a moment ago",
            filters=filters,
            subscriptions=len(session.subscriptions),
            queued=session.queued,
            in_flight=session.in_flight,
            moves=() if stay is None else stay.moves,
        )


def _sessions(views: Mapping[str, BrokerView]) -> dict[str, tuple[str, SessionView]]:
    """By client: its broker and session; of two, as while it moves, the connected one."""
    found: dict[str, tuple[str, SessionView]] = {}
    for name, view in views.items():
        for session in view.sessions:
            if session.is_connected or session.client not in found:
                found[session.client] = (name, session)
    return found


def _has(session: SessionView, wanted: str) -> bool:
    return wanted in session.client.lower() or any(
        wanted in one.filter.lower() for one in session.subscriptions
    )
