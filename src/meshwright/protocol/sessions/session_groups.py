"""What sessions tell shared subscriptions: clients that join, leave, acknowledge or move."""

from __future__ import annotations

from typing import Protocol

from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.sessions.session import Session, Waiting


class SessionGroups(Protocol):
    """The groups of a session's shared subscriptions, wherever their keepers are."""

    def join(self, turn: Turn, session: Session, key: str, done: Action) -> None:
        """A client subscribes; done is called once the keeper has it and hands it messages."""

    def leave(self, turn: Turn, client: str, key: str) -> None:
        """A client's shared subscription ends."""

    def stirred(self, turn: Turn, session: Session) -> None:
        """A client connected or disconnected."""

    def arrived(self, turn: Turn, session: Session) -> None:
        """A session has moved here, and is open."""

    def departed(self, turn: Turn, session: Session) -> None:
        """A session leaves for another broker with all messages that it holds."""

    def ended(self, turn: Turn, session: Session, target: str | None) -> None:
        """The session here ends and goes on at the target; None if this copy is just dropped."""

    def abandoned(self, turn: Turn, session: Session) -> None:
        """A session has ended for good."""

    def mark(self, turn: Turn, waiting: Waiting) -> None:
        """A message of a group is on disk in a session, or was sent to its client."""

    def settled(self, turn: Turn, waiting: Waiting) -> None:
        """A client has acknowledged a message, or it was dropped with a report."""
