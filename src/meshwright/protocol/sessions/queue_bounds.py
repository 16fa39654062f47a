"""When the queue of a session is full, and what is done about it."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.filters.filter import Filter, parse_filter
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.sessions.full_queues import FullQueues
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.sessions.session_tallies import SessionTallies

QUEUE_IS_FULL = "the client's queue is full"


class QueueBounds:
    """Watches the queues of all sessions of a broker.

    A queue counts as full until a quarter of it is free, so that a publisher that tries again finds
    room for more than one message. Where the setting is to drop messages, no publisher is told.
    """

    def __init__(
        self, settings: SessionSettings, full: FullQueues, tallies: SessionTallies
    ) -> None:
        self._settings = settings
        self._tallies = tallies
        self._full = full
        self.drops = settings.queue_full == "drop"

    def is_over(self, session: Session) -> bool:
        """True if nothing more may wait for a client."""
        queue, settings = session.queue, self._settings
        return (
            len(queue) >= settings.queue_max
            or queue.byte_count >= settings.queue_bytes_max
            or self._tallies.is_over(session.client)
        )

    def is_full(self, session: Session) -> bool:
        """True if a client's queue is known to be full, or if more would be dropped."""
        if self.drops:
            return bool(session.queue) and self.is_over(session)
        return self._full.is_full(session.client)

    def queued(self, turn: Turn, session: Session) -> None:
        """Something more waits for a client."""
        if not self.drops and self.is_over(session) and not self._full.is_full(session.client):
            self._mark(turn, session)

    def drained(self, turn: Turn, session: Session) -> None:
        """Less waits for a client."""
        if self._full.is_full(session.client) and self._has_room(session):
            self._full.clear(turn, session.client)

    def look_again(self, turn: Turn, find: Callable[[str], Session | None]) -> None:
        """Bytes were freed in other queues: there may be room in those that are full."""
        for client in self._full.own_clients():
            session = find(client)
            if session is not None:
                self.drained(turn, session)

    def resubscribed(self, turn: Turn, session: Session) -> None:
        """The client wants something else than before."""
        if self._full.is_full(session.client):
            self._mark(turn, session)

    def over(self, turn: Turn, session: Session) -> None:
        """There is no such session any more."""
        self._full.clear(turn, session.client)

    def _has_room(self, session: Session) -> bool:
        queue, settings = session.queue, self._settings
        return (
            4 * len(queue) <= 3 * settings.queue_max
            and 4 * queue.byte_count <= 3 * settings.queue_bytes_max
            and not (queue and self._tallies.is_over(session.client))
        )

    def _mark(self, turn: Turn, session: Session) -> None:
        """Tell which filters of QoS 1 and 2 lead to a full queue; groups have their own bounds."""
        wanted: list[Filter] = []
        not_local: list[Filter] = []
        for text, subscription in session.subscriptions.items():
            one = parse_filter(text)
            if subscription.qos and one.group is None:
                wanted.append(one)
                if subscription.no_local:
                    not_local.append(one)
        self._full.mark(turn, session.client, tuple(wanted), frozenset(not_local))
