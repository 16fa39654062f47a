"""How many sessions there are and how much waits in them, in all and for each user."""

from __future__ import annotations

from meshwright.protocol.foundation.client_names import user_and_id
from meshwright.protocol.mqtt.packets import QUOTA_EXCEEDED, Connack
from meshwright.protocol.sessions.session import QueueTally, Session
from meshwright.protocol.sessions.session_settings import SessionSettings

TOO_MANY = "too many sessions are kept; try again later, or let one of yours end"


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


NOBODY = QueueTally()
