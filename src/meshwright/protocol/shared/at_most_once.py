"""QoS 0 in shared subscriptions: handed out at most once, whoever crashes.

Nothing of it is on disk. Brokers remember what their members were handed last, and tell a keeper
that has restarted, or a new one. So a late copy is not handed out a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meshwright.model.publication import Publication

# Of each group so many lines are remembered: what one publisher says on one topic.
LINES_MAX = 64
GROUPS_MAX = 1_024

# A publisher, a topic, and the last sequence that was handed out.
Line = tuple[str, str, int]


class LastHanded:
    """A member's side: the last that came of each line, of the groups that were used last."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[tuple[str, str], int]] = {}

    def is_new(self, key: str, publication: Publication) -> bool:
        """Note a message for a member of a group; False if it, or a later one, was here before."""
        lines = self._groups[key] = self._groups.pop(key, {})
        line = (publication.publisher, publication.topic)
        before = lines.pop(line, 0)
        lines[line] = max(before, publication.sequence)
        _drop_oldest(lines, LINES_MAX)
        _drop_oldest(self._groups, GROUPS_MAX)
        return before < publication.sequence

    def lines(self, key: str) -> tuple[Line, ...]:
        """What came of a group."""
        return tuple((*line, sequence) for line, sequence in self._groups.get(key, {}).items())


class HandedBefore:
    """A keeper's side: what was handed out before it began, as far as it was told.

    waiting: brokers that were not heard yet; until they are, no QoS 0 is handed out.
    """

    __slots__ = ("_lines", "waiting")

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], int] = {}
        self.waiting: dict[str, None] = {}

    def learn(self, broker: str, lines: Iterable[Line]) -> None:
        """A broker tells what its members were handed."""
        self.waiting.pop(broker, None)
        for publisher, topic, sequence in lines:
            self._lines[publisher, topic] = max(sequence, self._lines.get((publisher, topic), 0))

    def may_hand(self, publication: Publication, is_lost: Callable[[str], bool]) -> bool:
        """True if nobody who can be asked has been handed a message before."""
        if not all(map(is_lost, self.waiting)):
            return False
        line = (publication.publisher, publication.topic)
        return self._lines.get(line, 0) < publication.sequence


def _drop_oldest(entries: dict[Any, Any], size_max: int) -> None:
    """Forget what was used longest ago, if there is too much."""
    if len(entries) > size_max:
        del entries[next(iter(entries))]
