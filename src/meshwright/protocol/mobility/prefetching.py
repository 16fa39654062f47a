"""Prefetching: sends a session ahead to the broker where its client probably goes next.

There is one copy of a session, so it goes to one broker only: the most likely one, if a right guess
saves more than a wrong one costs. After a wrong guess the session is moved again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.messages import MoveOffer
from meshwright.protocol.mobility.policies import MobilitySettings
from meshwright.protocol.mobility.prediction import (
    extended,
    is_worth_it,
    likely_set,
    next_probabilities,
)
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.session_state import write_moved
from meshwright.protocol.sessions.sessions import Sessions


class Prefetching:
    """Notes where clients were, and offers their sessions to other brokers when they leave.

    It only notes where they were if the prefetching policy is off.

    is_alive: True if a broker is believed alive.
    """

    def __init__(
        self,
        me: str,
        settings: MobilitySettings,
        sessions: Sessions,
        *,
        send: Callable[[Turn, str, Any], None],
        is_alive: Callable[[str], bool],
    ) -> None:
        self._me = me
        self._settings = settings
        self._sessions = sessions
        self._send = send
        self._is_alive = is_alive
        self._since: dict[str, tuple[int, int]] = {}

    def connected(self, turn: Turn, client: str) -> None:
        """A client is connected and its session is here: note the visit."""
        session = self._sessions.find(client)
        if session is None or not session.is_durable:
            return
        self._since[client] = (turn.now_us, session.next_index)
        visits = extended(session.visits, self._me, self._settings.visits_max)
        if visits != session.visits:
            session.visits = visits
            write_moved(turn, session)

    def disconnected(self, turn: Turn, client: str) -> None:
        """A client has left: offer its session to the next broker, if that pays."""
        since_us, index = self._since.pop(client, (turn.now_us, 0))
        if not self._settings.has("prefetching"):
            return
        session = self._sessions.find(client)
        if session is None or not may_go_ahead(session):
            return
        events_per_s = (session.next_index - index) * SECOND_US / max(1, turn.now_us - since_us)
        target = self._target(session, events_per_s)
        if target is not None and target != self._me and self._is_alive(target):
            self._send(turn, target, MoveOffer(client))

    def _target(self, session: Session, events_per_s: float) -> str | None:
        """The broker where a session had best wait for its client; None if here."""
        settings = self._settings
        expected = settings.expected.get(session.client)
        if expected is not None:
            return expected
        probabilities = next_probabilities(session.visits)
        likely = likely_set(probabilities)
        if not likely:
            return None
        is_good = is_worth_it(
            probabilities[likely[0]],
            events_saved=events_per_s * settings.away_s,
            subscriptions=len(session.subscriptions),
            events_in_transfer=events_per_s * settings.transfer_s,
        )
        return likely[0] if is_good else None


def may_go_ahead(session: Session) -> bool:
    """True if a session may leave without its client: it outlives connections, no will is due."""
    return session.is_away and session.expiry_s > 0 and session.will is None
