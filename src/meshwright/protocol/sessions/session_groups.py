"""What sessions tell the machine of shared subscriptions: joins, leaves, answers, moves."""

from __future__ import annotations

from typing import Protocol

from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.sessions.session import Session, Waiting


class SessionGroups(Protocol):
    """The groups of a session's shared subscriptions, wherever they are kept."""

    def join(self, turn: Turn, session: Session, key: str, done: Action) -> None:
        """A client shares a subscription; done when it may count on its messages."""

    def leave(self, turn: Turn, client: str, key: str) -> None:
        """A client shares a subscription no more."""

    def stirred(self, turn: Turn, session: Session) -> None:
        """A client connected or disconnected."""

    def arrived(self, turn: Turn, session: Session) -> None:
        """A session is here for good."""

    def departed(self, turn: Turn, session: Session) -> None:
        """A session is on its way elsewhere with all that it holds."""

    def ended(self, turn: Turn, session: Session, target: str | None) -> None:
        """A session goes on elsewhere: at a target that has got it from here, or just as it is."""

    def abandoned(self, turn: Turn, session: Session) -> None:
        """A session is over."""

    def mark(self, turn: Turn, waiting: Waiting) -> None:
        """A message of a group is on disk in a session, or was sent to its client."""

    def settled(self, turn: Turn, waiting: Waiting) -> None:
        """A client has answered a message, or it was dropped aloud."""
