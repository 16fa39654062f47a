"""What is remembered of some clients and topics between batches of telemetry, and what periods say.

A period is judged when it is over by all brokers' clocks. Events wait until then; what comes later
still corrects the picture of the periods to come. All buckets hear the same of clocks and files, so
that they judge a period in the same batch. Periods in which nothing happened are passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from meshwright.model.times import SECOND_US
from meshwright.pipeline.watching.clocks import Clocks
from meshwright.pipeline.watching.clockwork import Clockwork
from meshwright.pipeline.watching.distant import Distant
from meshwright.pipeline.watching.parts import Claim, NewParts, Parts
from meshwright.pipeline.watching.picture import Event, Picture
from meshwright.pipeline.watching.rates import Count, Rates

FindingKind = Literal[
    "want", "publish", "broker", "late", "forgotten", "ahead", "far", "clock", "silent"
]


class Row(NamedTuple):
    """An event or a count, the broker that recorded it, and where it stands."""

    said: Event | Count
    broker: str
    series: str
    part: int
    file: int


class Heard(NamedTuple):
    """A file of a broker, written at a time, has this as one of its newest times."""

    broker: str
    newest_us: int
    written_us: int


@dataclass
class News:
    """All that a batch brings to a bucket; clocks, claims and periods are the same for all.

    speaks: this bucket tells what all of them know.
    """

    speaks: bool = False
    rows: list[Row] = field(default_factory=list)
    clocks: list[Heard] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    periods: set[int] = field(default_factory=set)


class Finding(NamedTuple):
    """What a period says, or what became of rows.

    want: a broker wants a topic. publish: a topic was published at a broker (None: nobody knows
    where), amount in the period, rate of a slot to come. broker: it told something lately. late:
    rows (amount) of a broker that came after their period was judged; forgotten: too late to count;
    ahead: of a time that had not come when their file (topic) was written, up to rate seconds. far:
    how many rows more, or fewer, wait for a time far ahead of the network's clock, the last rate
    seconds ahead. clock: amount is a broker's newest time, rate the seconds that it is ahead of the
    network's clock; silent: the same of a broker that is not waited for.
    """

    kind: FindingKind
    period: int
    broker: str | None
    topic: str | None = None
    amount: int = 0
    rate: float = 0.0


class Held(msgspec.Struct):
    """What is needed only when a period is judged."""

    picture: Picture = msgspec.field(default_factory=Picture)
    rates: Rates = msgspec.field(default_factory=Rates)


class Waiting(msgspec.Struct, array_like=True):
    """What came at once and waits for the end of its period."""

    events: list[Event] = []
    counts: list[Count] = []


_HELD = msgspec.msgpack.Decoder(Held)
_WAITING = msgspec.msgpack.Decoder(Waiting)


class Bucket(msgspec.Struct):
    """State between batches; held and waiting stay encoded until a period is judged."""

    clocks: Clocks = msgspec.field(default_factory=Clocks)
    parts: Parts = msgspec.field(default_factory=Parts)
    distant: Distant = msgspec.field(default_factory=Distant)
    periods: set[int] = msgspec.field(default_factory=set)
    next_period: int | None = None
    held: msgspec.Raw = msgspec.field(default_factory=lambda: _encoded(Held()))
    waiting: list[msgspec.Raw] = msgspec.field(default_factory=list)

    def step(self, clockwork: Clockwork, news: News) -> list[Finding]:
        """Hear what a batch brings, and judge the periods that are over with it."""
        for one in news.clocks:
            self.clocks.hear(clockwork, *one)
        found = list(self._take(clockwork, news))
        self.parts.hear(news.claims)
        self.clocks.advance(clockwork)
        found += self._far_told(clockwork)
        first = self.next_period
        self.periods |= {one for one in news.periods if first is None or one >= first}
        end = self.clocks.watermark_us // clockwork.period_us
        due = sorted(period for period in self.periods if period < end)
        if due:
            found += self._judge(clockwork, due, news.speaks)
        return found + (self._clocks_told(clockwork) if news.speaks else [])

    def _take(self, clockwork: Clockwork, news: News) -> Iterator[Finding]:
        """Keep rows that are new, and count what is late."""
        new_parts = NewParts(self.parts, news.claims)
        judged_us = (self.next_period or 0) * clockwork.period_us
        oldest_us = self.clocks.watermark_us - clockwork.forget_us
        bound_us = self.clocks.bound_us(clockwork)
        waiting = Waiting([], [])
        late: Counter[str] = Counter()
        forgotten: Counter[str] = Counter()
        for said, broker, series, part, file in news.rows:
            if not new_parts.takes(series, part, file):
                continue
            if isinstance(said, Event):
                time_us, count = said.time_us, 1
                waiting.events.append(said) if time_us >= oldest_us else None
            else:
                time_us, count = said.slot * clockwork.slot_us, said.publications
                waiting.counts.append(said) if time_us >= oldest_us else None
            if time_us < judged_us:
                (forgotten if time_us < oldest_us else late)[broker] += count
            elif time_us > bound_us:
                self.distant.hear(clockwork, broker, time_us, count)
        if waiting.events or waiting.counts:
            self.waiting.append(_encoded(waiting))
        for broker, count in sorted(late.items()):
            yield Finding("late", 0, broker, amount=count)
        for broker, count in sorted(forgotten.items()):
            yield Finding("forgotten", 0, broker, amount=count)

    def _far_told(self, clockwork: Clockwork) -> Iterator[Finding]:
        bound_us = self.clocks.bound_us(clockwork)
        middle_us = bound_us - clockwork.ahead_us
        for broker, more, newest_us in self.distant.changes(bound_us):
            ahead_s = (newest_us - middle_us) / SECOND_US
            yield Finding("far", 0, broker, amount=more, rate=ahead_s)

    def _clocks_told(self, clockwork: Clockwork) -> list[Finding]:
        return [
            Finding(
                "clock" if one.is_waited_for else "silent",
                0,
                one.broker,
                amount=one.newest_us,
                rate=one.ahead_us / SECOND_US,
            )
            for one in self.clocks.readings(clockwork)
        ]

    def _judge(self, clockwork: Clockwork, due: list[int], speaks: bool) -> Iterator[Finding]:
        held = _HELD.decode(self.held)
        events, counts = self._decoded_waiting()
        for period in due:
            end_us = (period + 1) * clockwork.period_us
            end_slot = (period + 1) * clockwork.period_slots
            for event in events:
                if event.time_us < end_us:
                    held.picture.apply(event)
            events = [event for event in events if event.time_us >= end_us]
            now = [one for one in counts if one.slot < end_slot]
            counts = [one for one in counts if one.slot >= end_slot]
            yield from _wanted(held.picture, period)
            for topic, broker, published, rate in held.rates.close(clockwork, now, end_slot):
                yield Finding("publish", period, broker or None, topic, published, rate)
            for reading in self.clocks.readings(clockwork) if speaks else ():
                if reading.is_waited_for and reading.broker:
                    yield Finding("broker", period, reading.broker)
        self._forget(clockwork, held.picture)
        self.next_period = due[-1] + 1
        self.periods = {one for one in self.periods if one >= self.next_period}
        self.held = _encoded(held)
        rest = Waiting(events, counts)
        self.waiting = [_encoded(rest)] if events or counts else []

    def _forget(self, clockwork: Clockwork, picture: Picture) -> None:
        before_us = self.clocks.watermark_us - clockwork.forget_us
        lost = self.clocks.lost(clockwork, before_us)
        picture.forget(before_us, lost)
        self.parts.forget(before_us)
        for broker in lost:
            del self.clocks.brokers[broker]

    def _decoded_waiting(self) -> tuple[list[Event], list[Count]]:
        chunks = [_WAITING.decode(one) for one in self.waiting]
        return (
            [event for chunk in chunks for event in chunk.events],
            [count for chunk in chunks for count in chunk.counts],
        )


def _wanted(picture: Picture, period: int) -> Iterator[Finding]:
    for broker, topic in sorted(set(picture.wanted())):
        yield Finding("want", period, broker, topic)


def _encoded(what: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(what))
