"""What is remembered of some clients and topics between batches of telemetry, and what periods say.

A period is judged when it is over: events wait until then and are applied in the order of their
times, however they arrived. Times are microseconds; slots and periods are numbered from 1970 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec


class Clockwork(msgspec.Struct, frozen=True):
    """Periods (T_free) of some slots each, and the weight of the last slot in a rate."""

    slot_us: int
    period_slots: int
    alpha: float = 0.3

    @property
    def period_us(self) -> int:
        return self.slot_us * self.period_slots


class Event(NamedTuple):
    """A client wants a topic or is at a broker from now on, or no longer."""

    time_us: int
    kind: Literal["want", "host"]
    client: str
    other: str
    is_on: bool


class Finding(NamedTuple):
    """What a period says: a broker wants a topic; or, without a broker, how a topic was published.

    publications: in the period. rate: of a slot to come.
    """

    period: int
    broker: str | None
    topic: str
    publications: int
    rate: float


class Bucket(msgspec.Struct):
    """Some clients and topics: hosts are brokers by client, each with the time of connecting."""

    wants: dict[str, list[str]] = {}
    hosts: dict[str, dict[str, int]] = {}
    rates: dict[str, float] = {}
    counts: dict[str, dict[int, int]] = {}
    waiting: list[Event] = []
    next_period: int | None = None
    has_judged: bool = False

    def hear(self, clockwork: Clockwork, happened: Iterable[Event]) -> None:
        """Keep what happened until its period is over."""
        for event in happened:
            self.waiting.append(event)
            self._begin_by(event.time_us // clockwork.period_us)

    def count(self, clockwork: Clockwork, slot: int, topic: str, publications: int) -> None:
        """So many more publications of a topic in a slot."""
        self._begin_by(slot // clockwork.period_slots)
        if self.next_period is not None:  # what comes too late counts as soon as it can
            slot = max(slot, self.next_period * clockwork.period_slots)
        slots = self.counts.setdefault(topic, {})
        slots[slot] = slots.get(slot, 0) + publications

    def close(self, clockwork: Clockwork, period_end: int) -> Iterator[Finding]:
        """Judge all periods before this one that were not judged yet."""
        if self.next_period is None:
            return
        while self.next_period < period_end:
            self._apply((self.next_period + 1) * clockwork.period_us)
            yield from self._wanted(self.next_period)
            yield from self._published(clockwork, self.next_period)
            self.next_period += 1
            self.has_judged = True

    def _begin_by(self, period: int) -> None:
        """The first period is the earliest that anything is heard of before one is judged."""
        if self.next_period is None or (period < self.next_period and not self.has_judged):
            self.next_period = period

    def _apply(self, end_us: int) -> None:
        """Of one moment, beginnings come after ends: who changes brokers leaves and enters."""
        due = [event for event in self.waiting if event.time_us < end_us]
        self.waiting = [event for event in self.waiting if event.time_us >= end_us]
        due.sort(key=lambda event: (event.time_us, event.is_on))
        for time_us, kind, client, other, is_on in due:
            if kind == "host":
                brokers = self.hosts.setdefault(client, {})
                brokers.pop(other, None)
                if is_on:
                    brokers[other] = time_us
            else:
                topics = self.wants.setdefault(client, [])
                if is_on and other not in topics:
                    topics.append(other)
                elif not is_on and other in topics:
                    topics.remove(other)

    def _wanted(self, period: int) -> Iterator[Finding]:
        found = {
            (max(brokers, key=lambda name: (brokers[name], name)), topic)
            for client, brokers in self.hosts.items()
            if brokers
            for topic in self.wants.get(client, ())
        }
        for broker, topic in sorted(found):
            yield Finding(period, broker, topic, 0, 0.0)

    def _published(self, clockwork: Clockwork, period: int) -> Iterator[Finding]:
        first = period * clockwork.period_slots
        for topic, slots in sorted(self.counts.items()):
            total = 0
            for slot in range(first, first + clockwork.period_slots):
                count = slots.pop(slot, 0)
                total += count
                if topic in self.rates:
                    former = self.rates[topic]
                    self.rates[topic] = (1 - clockwork.alpha) * former + clockwork.alpha * count
                elif count:
                    self.rates[topic] = float(count)
            if topic in self.rates:
                yield Finding(period, None, topic, total, self.rates[topic])
