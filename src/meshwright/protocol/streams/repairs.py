"""Repairs: an origin sends receivers straight what they are owed and may have missed.

A broker that comes back may be owed more than its conversation can take at once. So publications
are read from the logs one by one, when there is room for the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from meshwright.protocol.foundation.stream_frames import NOTHING_OWED, StreamFrame
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.streams.known_interest import KnownInterest
from meshwright.protocol.streams.messages import Repair
from meshwright.protocol.streams.ordering import Ordering
from meshwright.protocol.streams.outgoing_stream import OutgoingStream


class _Part:
    """One stream's share of a repair: the last number sent again, and the last to send."""

    __slots__ = ("last", "sent")

    def __init__(self, last: int) -> None:
        self.sent = NOTHING_OWED
        self.last = last


class Repairs:
    """All repairs of one origin; each receiver has one feed at a time."""

    def __init__(
        self,
        me: str,
        streams: Mapping[str, OutgoingStream],
        known: KnownInterest,
        ordering: Ordering,
        conversations: Conversations,
    ) -> None:
        self._me = me
        self._streams = streams
        self._known = known
        self._ordering = ordering
        self._conversations = conversations
        # By broker and topic: what to send, in this order.
        self._parts: dict[str, dict[str, _Part]] = {}

    def begin(
        self, turn: Turn, name: str, topics: Iterable[str], *, count_max: int | None = None
    ) -> None:
        """Send a broker what it is owed of some streams, or the count_max oldest of each."""
        if self._conversations.is_lost(name):
            return
        is_fed = name in self._parts
        parts = self._parts.setdefault(name, {})
        for topic in topics:
            pending = self._streams[topic].receivers[name].pending
            if pending:
                parts[topic] = _Part(pending[:count_max][-1])
        if not is_fed:
            self._conversations.feed(turn, name, self._owed(name), self._send)

    def begin_anew(self, turn: Turn, name: str, topics: Iterable[str]) -> None:
        """A conversation with a broker began anew: drop its repair, and begin another."""
        self._parts.pop(name, None)
        self.begin(turn, name, topics)

    def is_under_way(self, name: str, topic: str) -> bool:
        """True if a repair has still to send a broker something of a stream."""
        return topic in self._parts.get(name, ())

    def forget_lost(self) -> None:
        """Drop repairs of lost brokers; each begins anew when its broker returns."""
        for name in [name for name in self._parts if self._conversations.is_lost(name)]:
            del self._parts[name]

    def _owed(self, name: str) -> Iterator[tuple[str, int, int]]:
        """Topics and numbers to send to a broker, each with the number sent before it."""
        parts = self._parts[name]
        while parts:
            topic, part = next(iter(parts.items()))
            number = self._next(name, topic, part)
            if number is None:
                del parts[topic]
            else:
                before, part.sent = part.sent, number
                yield topic, number, before
        del self._parts[name]

    def _next(self, name: str, topic: str, part: _Part) -> int | None:
        """The next number of a stream that a broker is still owed, up to the last to send."""
        stream = self._streams.get(topic)
        receiver = stream.receivers.get(name) if stream is not None else None
        if receiver is None:
            return None
        place = bisect_right(receiver.pending, part.sent)
        number = receiver.pending[place] if place < len(receiver.pending) else None
        return number if number is not None and number <= part.last else None

    def _send(self, turn: Turn, name: str, item: tuple[str, int, int]) -> None:
        topic, number, before = item
        stream = self._streams[topic]
        stream.receivers[name].progress_us = turn.now_us
        publication = stream.log[number]
        behind = self._ordering.behind(number, publication)
        frame = StreamFrame(self._me, number, publication, ((name, before),), behind)
        self._conversations.send(turn, name, Repair(frame, self._known.versions(name, topic)))
