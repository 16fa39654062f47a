"""What clients may read and write: the questions that the core asks of its host."""

from __future__ import annotations

from typing import Protocol

NOT_ALLOWED = "the client may not read it"
WILL_NOT_ALLOWED = "the client may not publish its will there"


class Rights(Protocol):
    """Answers by the name of a client, whether it is here or not.

    An answer holds until RightsChanged happens, so it is asked once for each topic and client.
    """

    def may_read(self, client: str, topic: str) -> bool:
        """True if a client may get messages of a topic."""

    def may_write(self, client: str, topic: str) -> bool:
        """True if a client may publish on a topic."""
