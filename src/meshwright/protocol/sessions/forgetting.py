"""Sessions that an operator ends: as if their time had passed, whether or not the client is here.

A client that takes nothing keeps others from publishing what it wants, until its session expires.
An operator need not wait for that. A session that moves between brokers is left alone, as two of
them have it: it is ended where it arrives.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from meshwright.protocol.foundation.events import ForgettingGiven
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.sessions.sessions import Sessions

FORGOTTEN, UNKNOWN, MOVING = "forgotten", "unknown", "moving"


class ForgettingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the order to forget a client; forgotten: on disk, too.

    step: forgotten, unknown here, or moving. messages: those that waited for the client, or that it
    had not answered. was_connected: it was told to go.
    """

    client: str
    step: str
    messages: int = 0
    was_connected: bool = False


class Forgetting:
    """Ends sessions of one broker.

    is_moving tells whether another broker may have a client's session, too; stay_here has a broker
    that asked for it told that it does not come.
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        is_moving: Callable[[str], bool],
        stay_here: Callable[[Turn, str], None],
    ) -> None:
        self._sessions = sessions
        self._is_moving = is_moving
        self._stay_here = stay_here

    def given(self, turn: Turn, event: ForgettingGiven) -> None:
        """An operator wants a session to be over."""
        client = event.client
        session = self._sessions.find(client)
        if session is None:
            turn.report(ForgettingRecord(client=client, step=UNKNOWN))
            return
        if session.is_arriving or session.is_leaving or self._is_moving(client):
            turn.report(ForgettingRecord(client=client, step=MOVING))
            return
        record = ForgettingRecord(
            client=client,
            step=FORGOTTEN,
            messages=session.waiting_count,
            was_connected=session.is_connected,
        )
        self._stay_here(turn, client)
        self._sessions.end_by_order(turn, session)
        turn.once_synced(lambda later: later.report(record))
