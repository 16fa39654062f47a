"""Answers by topic: bounded, and forgotten by topic, by first level or all at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from meshwright.errors import CallerError
from meshwright.filters.topics import SEPARATOR

Answer = TypeVar("Answer")


class TopicCache(Generic[Answer]):
    """At most `size_max` answers; a full cache forgets the one that it has kept longest."""

    def __init__(self, size_max: int) -> None:
        if size_max < 1:
            raise CallerError(f"a cache of {size_max} topics keeps nothing; allow at least one")
        self._size_max = size_max
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._topics: dict[str, dict[str, None]] = {}  # cached topics of each first level
        # The dict's own method: a hit costs one call and nothing of ours.
        self.get: Callable[[str], Answer | None] = self._answers.get

    def __len__(self) -> int:
        return len(self._answers)

    def put(self, topic: str, answer: Answer) -> None:
        """Keep the answer of a topic that is not cached."""
        if len(self._answers) >= self._size_max:
            self.drop(next(iter(self._answers)))
        self._answers[topic] = answer
        self._topics.setdefault(_first_level(topic), {})[topic] = None

    def drop(self, topic: str) -> None:
        """Forget one topic, if it is cached."""
        if topic not in self._answers:
            return
        del self._answers[topic]
        first_level = _first_level(topic)
        neighbours = self._topics[first_level]
        del neighbours[topic]
        if not neighbours:
            del self._topics[first_level]

    def drop_first_level(self, first_level: str) -> None:
        """Forget all topics with this first level."""
        for topic in self._topics.pop(first_level, ()):
            del self._answers[topic]

    def clear(self) -> None:
        """Forget everything."""
        self._answers.clear()
        self._topics.clear()


def _first_level(topic: str) -> str:
    return topic.partition(SEPARATOR)[0]
