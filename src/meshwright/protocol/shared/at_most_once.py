"""QoS 0 in shared subscriptions: each message goes to one member at most, whoever crashes.

None of it is on disk. Brokers remember the last messages that their members were handed, and tell
them to a keeper that restarted or took over. So a late copy is not handed out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meshwright.model.publication import Publication

# How many lines are remembered of each group, and of how many groups.
LINES_MAX = 64
GROUPS_MAX = 1_024

# A publisher, a topic, and the last sequence that was handed out.
Line = tuple[str, str, int]


class LastHanded:
    """A member's side: for each line the last sequence handed out, of the groups used lately.

    A line is what one publisher publishes on one topic.
    """

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[tuple[str, str], int]] = {}

    def is_new(self, key: str, publication: Publication) -> bool:
        """Note a message for a member; False if it, or a later one of its line, came before."""
        lines = self._groups[key] = self._groups.pop(key, {})
        line = (publication.publisher, publication.topic)
        before = lines.pop(line, 0)
        lines[line] = max(before, publication.sequence)
        _drop_oldest(lines, LINES_MAX)
        _drop_oldest(self._groups, GROUPS_MAX)
        return before < publication.sequence

    def lines(self, key: str) -> tuple[Line, ...]:
        """The last messages that members of a group here were handed."""
        return tuple((*line, sequence) for line, sequence in self._groups.get(key, {}).items())


class HandedBefore:
    """A keeper's side: what was handed out before it began, as brokers have told it.

    waiting: brokers that have not told yet; until they have, no QoS 0 message is handed out.
    """

    __slots__ = ("_lines", "waiting")

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], int] = {}
        self.waiting: dict[str, None] = {}

    def learn(self, broker: str, lines: Iterable[Line]) -> None:
        """A broker tells the last messages that its members were handed."""
        self.waiting.pop(broker, None)
        for publisher, topic, sequence in lines:
            self._lines[publisher, topic] = max(sequence, self._lines.get((publisher, topic), 0))

    def may_hand(self, publication: Publication, is_lost: Callable[[str], bool]) -> bool:
        """True if no broker that can be reached has been handed this message before."""
        if not all(map(is_lost, self.waiting)):
            return False
        line = (publication.publisher, publication.topic)
        return self._lines.get(line, 0) < publication.sequence


def _drop_oldest(entries: dict[Any, Any], size_max: int) -> None:
    """Drop the entry used longest ago, if there are too many."""
    if len(entries) > size_max:
        del entries[next(iter(entries))]
