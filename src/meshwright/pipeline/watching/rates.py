"""How often topics are published at which broker, filtered slot by slot as periods end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from meshwright.pipeline.watching.clockwork import Clockwork

# A topic of which no more is expected than this, in a slot, is forgotten.
RATE_MIN = 1e-6
ByBroker = dict[str, float]


class Count(NamedTuple):
    """So many publications of a topic at a broker in a slot; broker "": nobody knows where."""

    slot: int
    topic: str
    broker: str
    publications: int


class TopicRate(NamedTuple):
    """A topic at a broker: publications in the period, and what is expected of a slot to come."""

    topic: str
    broker: str
    publications: int
    rate: float


class Rates(msgspec.Struct):
    """By topic and broker; slot: the first that was not taken in yet.

    The sum over brokers is the rate of the topic: its first slot begins it at all brokers.
    """

    topics: dict[str, ByBroker] = {}
    slot: int | None = None

    def close(self, clockwork: Clockwork, counts: list[Count], slot: int) -> Iterator[TopicRate]:
        """Take in all slots before one; what comes late counts in the first that is left."""
        first = self.slot
        due: dict[str, dict[int, ByBroker]] = {}
        for one in counts:
            at = one.slot if first is None else max(one.slot, first)
            here = due.setdefault(one.topic, {}).setdefault(at, {})
            here[one.broker] = here.get(one.broker, 0) + one.publications
        for topic in sorted(self.topics.keys() | due.keys()):
            slots = due.get(topic, {})
            rates = _filtered(self.topics.pop(topic, None), slots, first, slot, clockwork.alpha)
            if sum(rates.values()) >= RATE_MIN:
                self.topics[topic] = rates
            for broker, rate in sorted(rates.items()):
                published = sum(int(here.get(broker, 0)) for here in slots.values())
                yield TopicRate(topic, broker, published, rate)
        self.slot = slot


def _filtered(
    known: ByBroker | None,
    slots: dict[int, ByBroker],
    first: int | None,
    end: int,
    alpha: float,
) -> ByBroker:
    """R' = (1 - alpha) R' + alpha R for each slot from first to end, most of which are empty."""
    rates, at = known, first
    for slot in sorted(slots):
        if rates is None:
            rates, at = dict(slots[slot]), slot + 1
            continue
        assert at is not None
        kept = (1.0 - alpha) ** (slot + 1 - at)
        brokers = rates.keys() | slots[slot].keys()
        rates = {
            name: kept * rates.get(name, 0.0) + alpha * slots[slot].get(name, 0.0)
            for name in brokers
        }
        at = slot + 1
    assert rates is not None
    assert at is not None
    return {name: (1.0 - alpha) ** (end - at) * rate for name, rate in rates.items()}
