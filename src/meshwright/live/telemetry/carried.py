"""What other brokers hand on to this one: how much of it is wanted here, and how far it came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.protocol.forwarding.machines import MESSAGES
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.sessions.publishing import SYSTEM_PREFIX

CARRIERS = frozenset(one for one in MESSAGES if one.counts_as == "publication")


class CarriedCounts(msgspec.Struct, kw_only=True):
    """Messages of clients' publications that came from other brokers, as the closed form has them.

    entering: on their way to where they are spread from. wanted and relayed: spread, to a broker
    with clients for them or without. arrivals: publications from elsewhere that clients here want,
    each once, and arrival_hops the hops that they had made.
    """

    entering: int = 0
    wanted: int = 0
    relayed: int = 0
    arrivals: int = 0
    arrival_hops: int = 0


class CarriedFrames:
    """Counts as frames come in at me; wants says whether a topic is wanted here."""

    def __init__(self, me: str, wants: Callable[[str], bool]) -> None:
        self.counts = CarriedCounts()
        # Messages by the neighbour that handed them on, and arrivals by the hops they had made.
        self.by_peer: Counter[str] = Counter()
        self.by_hops: Counter[int] = Counter()
        self._me = me
        self._wants = wants
        # The newest that arrived, by origin and topic: a frame may come twice.
        self._newest: dict[tuple[str, str], int] = {}

    def count(self, peer: str, envelopes: list[Any]) -> None:
        """Look at all that came at once from a neighbour."""
        for envelope in envelopes:
            body = getattr(envelope, "body", None)
            if type(body) in CARRIERS:
                self._count(peer, body)

    def _count(self, peer: str, message: Any) -> None:
        counts, frame = self.counts, message.frame
        topic, count = frame.publication.topic, frame.publication.count
        if topic.startswith(SYSTEM_PREFIX):
            return  # what brokers tell of themselves is in no trace, so that no plan knows of it
        self.by_peer[peer] += count
        is_wanted = self._wants(topic)
        if message.is_entering:
            counts.entering += count
        elif is_wanted:
            counts.wanted += count
        else:
            counts.relayed += count
        if is_wanted and self._is_new(frame):
            counts.arrivals += count
            counts.arrival_hops += count * message.hops
            self.by_hops[message.hops] += count

    def _is_new(self, frame: StreamFrame) -> bool:
        if frame.origin == self._me:
            return False  # it began here, and came down again with the tree
        if not frame.number:
            return True  # without a promise nobody sends it twice
        stream = (frame.origin, frame.publication.topic)
        is_new = frame.number > self._newest.get(stream, 0)
        if is_new:
            self._newest[stream] = frame.number
        return is_new
