"""Messages that were dropped, counted by the client that did not get them, and by topic."""

from __future__ import annotations

from collections import Counter

# Of more clients or topics than this, the rest is counted together.
NAMES_MAX = 1_000
OTHERS = "(others)"


class Losses:
    """Counts that clients cannot make grow without bound."""

    __slots__ = ("by_client", "by_topic")

    def __init__(self) -> None:
        self.by_client: Counter[str] = Counter()
        self.by_topic: Counter[str] = Counter()

    def count(self, client: str, topic: str, count: int = 1) -> None:
        """A client did not get so many messages of a topic."""
        for counts, name in ((self.by_client, client), (self.by_topic, topic)):
            is_known = name in counts or len(counts) < NAMES_MAX
            counts[name if is_known else OTHERS] += count
