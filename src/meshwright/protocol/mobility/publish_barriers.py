"""Publish barriers: what a client published at a broker before it left, until all have it.

A session that moves takes along its client's last numbers in this broker's streams (points).
Publications of the client elsewhere name these points, so that receivers deliver them in order.
Once all receivers have what the points name, this broker tells the session's new broker
(PointsSettled), and the client's messages need not name them any more. If that message is lost, the
client's messages are longer than they need be, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.session_state import write_moved
from meshwright.protocol.sessions.sessions import Sessions

TICK = ("left points",)
TICK_US = 1_000_000
PAUSE_MAX_US = 64_000_000


class PointsSettled(PeerMessage, frozen=True, gc=False, tag=123):
    """All receivers have what a client's session published here on these topics."""

    counts_as = "mobility"

    client: str
    identity: str
    topics: tuple[str, ...]


@dataclass(slots=True)
class _Watch:
    """The topics on which receivers may still lack what a session published here.

    target: the broker that the session went to.
    pause_us: the time until the next look; it doubles each time.
    settled: topics that all receivers had at the last look. They are told at the next one, when the
        disk has forgotten them too; after a crash before that they would be sent again.
    """

    target: str
    identity: str
    topics: tuple[str, ...]
    due_us: int
    pause_us: int = TICK_US
    settled: tuple[str, ...] = ()


class PublishBarriers:
    """Both sides: points of sessions that left this broker, and of sessions that are here."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        send: Callable[[Turn, str, Any], None],
        points_of: Callable[[str], dict[str, int]],
    ) -> None:
        self._sessions = sessions
        self._send = send
        self._points_of = points_of
        self._watches: dict[str, _Watch] = {}

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (on(PointsSettled, self.settled),)

    def given(self, turn: Turn, session: Session, target: str) -> dict[str, int]:
        """A session goes to another broker; returns the points that it takes along."""
        points = self._points_of(session.identity)
        if points:
            due_us = turn.now_us + TICK_US
            self._watches[session.client] = _Watch(target, session.identity, tuple(points), due_us)
            turn.timer(TICK, due_us)
        return points

    def settled(self, turn: Turn, peer: str, message: PointsSettled) -> None:
        """A former broker says that its points need not be named any more."""
        session = self._sessions.find(message.client)
        if session is None or session.is_leaving or session.identity != message.identity:
            return
        for topic in message.topics:
            points = session.points.pop(topic, ())
            remaining = tuple(one for one in points if one.origin != peer)
            if remaining:
                session.points[topic] = remaining
        self._sessions.points_changed()
        if session.is_durable:
            write_moved(turn, session)

    def tick(self, turn: Turn) -> None:
        """Look at the watches that are due; each is looked at less and less often."""
        for client, watch in list(self._watches.items()):
            session = self._sessions.find(client)
            if session is not None and not session.is_leaving:
                del self._watches[client]
            elif session is None and watch.due_us <= turn.now_us:
                self._look(turn, client, watch)
        if self._watches:
            turn.timer(TICK, turn.now_us + TICK_US)

    def _look(self, turn: Turn, client: str, watch: _Watch) -> None:
        unsettled = self._points_of(watch.identity)
        found = tuple(topic for topic in watch.topics if topic not in unsettled)
        settled, watch.settled = tuple(topic for topic in watch.settled if topic in found), found
        if settled:
            message = PointsSettled(client, watch.identity, settled)
            turn.once_synced(lambda later: self._send(later, watch.target, message))
        watch.topics = tuple(topic for topic in watch.topics if topic not in settled)
        watch.pause_us = min(2 * watch.pause_us, PAUSE_MAX_US)
        watch.due_us = turn.now_us + watch.pause_us
        if not watch.topics:
            del self._watches[client]
