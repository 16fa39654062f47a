"""Order across topics: a publisher's messages on named topics leave their origin in order.

An operator names the topics that have one order together (across_topics). A publisher's messages on
them leave their origin in the order in which they were taken. Each names the earlier ones on other
topics that receivers may not have yet. Only the origin need know which topics these are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from meshwright.filters.filter import parse_filter
from meshwright.filters.topics import levels_cover, levels_of
from meshwright.model.publication import Publication
from meshwright.protocol.streams.outgoing_stream import OutgoingStream

TOPICS_MAX = 65_536

# A topic, and a number of its stream.
Point = tuple[str, int]


class Ordering:
    """One origin's publications on ordered topics that are not sent, or that receivers may lack.

    streams: those of the origin, by topic.
    """

    def __init__(
        self, topic_filters: tuple[str, ...], streams: Mapping[str, OutgoingStream]
    ) -> None:
        self._streams = streams
        self._levels = [parse_filter(text).levels for text in topic_filters]
        self._known: dict[str, bool] = {}
        self._by_publisher: dict[str, deque[Point]] = {}
        self._by_topic: dict[str, deque[int]] = {}
        self._ready: set[Point] = set()
        self._sent: dict[str, dict[Point, None]] = {}

    def takes(self, topic: str) -> bool:
        """True if a topic is one of those that have one order together."""
        if not self._levels:
            return False
        found = self._known.get(topic)
        if found is None:
            if len(self._known) >= TOPICS_MAX:
                self._known.clear()
            levels = levels_of(topic)
            found = any(levels_cover(one, levels) for one in self._levels)
            self._known[topic] = found
        return found

    def taken(self, number: int, publication: Publication) -> None:
        """A publication was taken: its publisher's later ones leave after it."""
        topic = publication.topic
        self._by_publisher.setdefault(publication.publisher, deque()).append((topic, number))
        self._by_topic.setdefault(topic, deque()).append(number)

    def ready(self, number: int, publication: Publication) -> Iterator[Point]:
        """A publication is on disk and its topic open: yields all that may leave now, in order."""
        numbers = self._by_topic.get(publication.topic)
        if not numbers or number < numbers[0]:
            return  # it has left before
        self._ready.add((publication.topic, number))
        looked_at = [(publication.topic, number)]
        while looked_at:
            point = looked_at.pop()
            if point not in self._ready:
                continue
            publisher = self._streams[point[0]].log[point[1]].publisher
            if self._is_next(point, publisher):
                self._leaves(point, publisher)
                yield point
                if publisher in self._by_publisher:
                    looked_at.append(self._by_publisher[publisher][0])
                if point[0] in self._by_topic:
                    looked_at.append((point[0], self._by_topic[point[0]][0]))

    def behind(self, number: int, publication: Publication) -> tuple[Point, ...] | None:
        """The points that go before a publication: on each other topic the last one that is kept.

        None if the topic has no such order. To name only the very last point is not enough, nor
        only points that a receiver is known to be owed: a receiver that is not owed that one any
        more, or turns out to have wanted others, must wait for the rest.
        """
        topic = publication.topic
        if not self.takes(topic):
            return None
        found: dict[str, int] = {}
        for other, last in self._before(publication.publisher, (topic, number)):
            found.setdefault(other, last)
        return tuple(found.items())

    def _before(self, publisher: str, point: Point) -> Iterator[Point]:
        """Points of a publisher sent before this one that receivers may lack, the latest first."""
        earlier = False
        for one in reversed(self._sent.get(publisher, {})):
            if earlier and one[0] != point[0]:
                yield one
            earlier = earlier or one == point

    def safe(self, publisher: str, point: Point) -> None:
        """All receivers have a publication."""
        sent = self._sent.get(publisher)
        if sent is not None and sent.pop(point, self) is None and not sent:
            del self._sent[publisher]

    def _is_next(self, point: Point, publisher: str) -> bool:
        is_first = self._by_publisher[publisher][0] == point
        return is_first and self._by_topic[point[0]][0] == point[1]

    def _leaves(self, point: Point, publisher: str) -> None:
        self._ready.discard(point)
        _drop_first(self._by_publisher, publisher)
        _drop_first(self._by_topic, point[0])
        self._sent.setdefault(publisher, {})[point] = None


def _drop_first(queues: dict[str, deque[Point]] | dict[str, deque[int]], key: str) -> None:
    queue = queues[key]
    queue.popleft()
    if not queue:
        del queues[key]
