"""A broker's own clients, as its part of a tree counts and moves them."""

from __future__ import annotations

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.moving import Moving
from meshwright.protocol.sessions.sessions import Sessions
from meshwright.protocol.streams.interest import Interest


class OwnClients:
    """Who wants what, and who may go to another broker."""

    def __init__(self, interest: Interest, sessions: Sessions, moving: Moving) -> None:
        self._interest = interest
        self._sessions = sessions
        self._moving = moving

    def want(self, publication: Publication) -> bool:
        """True if a client here wants a publication, by its content, too."""
        return self._interest.matches(publication)

    def wanting(self, publication: Publication) -> tuple[str, ...]:
        """The clients here that want a publication."""
        return self._sessions.clients_wanting(publication)

    def may_be_sent(self, client: str) -> bool:
        """True if a client may be sent to another broker."""
        return self._moving.may_be_sent(client)

    def send(self, turn: Turn, client: str, target: str) -> None:
        """Send a client to another broker, once, unless it must stay."""
        self._moving.suggest(turn, client, target)
