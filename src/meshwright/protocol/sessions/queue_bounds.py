"""How many sessions there may be and how much may wait in them; what is done when one is full."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.filters.filter import Filter, parse_filter
from meshwright.protocol.foundation.client_names import user_and_id
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mqtt.packets import QUOTA_EXCEEDED, Connack
from meshwright.protocol.sessions.full_queues import FullQueues
from meshwright.protocol.sessions.session import QueueTally, Session
from meshwright.protocol.sessions.session_settings import SessionSettings

QUEUE_IS_FULL = "the client's queue is full"
TOO_MANY = "too many sessions are kept; try again later, or let one of yours end"
NOBODY = QueueTally()


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


class SessionTallies:
    """Counts kept as sessions come and go; anonymous clients are no user, and count in all only."""

    def __init__(self, settings: SessionSettings) -> None:
        self._settings = settings
        self._all = QueueTally()
        self._by_user: dict[str, QueueTally] = {}

    def opened(self, session: Session) -> None:
        """One more session."""
        user, _ = user_and_id(session.client)
        tallies = [self._all]
        if user:
            tallies.append(self._by_user.setdefault(user, QueueTally()))
        session.queue.count_in(tallies)

    def closed(self, session: Session) -> None:
        """One session less."""
        session.queue.count_in([])
        user, _ = user_and_id(session.client)
        if user in self._by_user and not self._by_user[user].session_count:
            del self._by_user[user]

    def refusal(self, client: str) -> Connack | None:
        """Why a client cannot have a session that it had not before, if so."""
        settings, of_user = self._settings, self._of_user(client)
        if (
            self._all.session_count < settings.sessions_max
            and of_user.session_count < settings.user_sessions_max
        ):
            return None
        return Connack(False, QUOTA_EXCEEDED, reason_text=TOO_MANY)

    def is_over(self, client: str) -> bool:
        """True if so much waits, in all or for a client's user, that no more may."""
        settings = self._settings
        return (
            self._all.byte_count >= settings.queued_bytes_max
            or self._of_user(client).byte_count >= settings.user_queued_bytes_max
        )

    def _of_user(self, client: str) -> QueueTally:
        if not self._by_user:
            return NOBODY
        return self._by_user.get(user_and_id(client)[0], NOBODY)
