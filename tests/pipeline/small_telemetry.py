"""A small network's telemetry as its brokers record it, and the same told in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from meshwright.live.telemetry.trace import TraceRecorder

HOUR_US = 3_600_000_000
BEGIN_US = 1_280_620_800_000_000  # 2010-08-01
BROKERS = tuple(f"b{number}" for number in range(6))
TOPICS = tuple(f"t{number}" for number in range(8))


@dataclass
class Told:
    """What has happened until some time."""

    wants: dict[str, set[str]] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)
    counts: Counter[tuple[int, str]] = field(default_factory=Counter)

    def broker_wants(self) -> dict[str, set[str]]:
        """Topics of each broker that has a client."""
        found: dict[str, set[str]] = {}
        for client, broker in self.hosts.items():
            for topic in self.wants.get(client, ()):
                found.setdefault(broker, set()).add(topic)
        return found

    def rates(self, slot_count: int, period: int, alpha: float = 0.3) -> dict[str, float]:
        """The exponential filter over periods that end with the last slot; the first is cut."""
        rates = {}
        for topic in TOPICS:
            rate = None
            end = (slot_count - 1) % period + 1
            for begin in (0, *range(end, slot_count, period)):
                counts = [self.counts[slot, topic] for slot in range(begin, end)]
                seen = sum(counts) / len(counts)
                rate = seen if rate is None else (1 - alpha) * rate + alpha * seen
                end += period
            assert rate is not None
            rates[topic] = rate
        return rates


def record_hours(folder: Path, first: int, last: int, *, seed: int = 1) -> None:
    """Telemetry of hours first to last: one file a table, broker and hour."""
    for hour in range(first, last):
        for number, broker in enumerate(BROKERS):
            _record(folder, hour, number, broker, seed)


def told_until(hour_count: int, *, seed: int = 1) -> Told:
    """The same hours, told again."""
    told = Told()
    for hour in range(hour_count):
        for number, broker in enumerate(BROKERS):
            for what, *facts in _events(hour, number, seed):
                _tell(told, hour, broker, what, facts)
    return told


def _events(hour: int, number: int, seed: int) -> list[tuple[str, ...]]:
    """Clients come in hour 0; later some change what they want; at every broker one publishes."""
    rng = np.random.default_rng([seed, hour, number])
    clients = [f"c{number}-{client}" for client in range(4)]
    happened: list[tuple[str, ...]] = []
    for client in clients:
        if hour == 0:
            happened.append(("come", client))
            topics = rng.choice(len(TOPICS), size=2, replace=False)
            happened += [("want", client, TOPICS[topic]) for topic in topics]
        elif rng.random() < 0.2:
            happened.append(("want", client, TOPICS[rng.integers(len(TOPICS))]))
            happened.append(("drop", client, TOPICS[rng.integers(len(TOPICS))]))
    topics = rng.integers(len(TOPICS), size=5 * (1 + number))
    happened += [("publish", clients[0], TOPICS[min(topic, 4)]) for topic in topics]
    return happened


def _record(folder: Path, hour: int, number: int, broker: str, seed: int) -> None:
    recorder = TraceRecorder(folder, broker, hour)
    happened = _events(hour, number, seed)
    for index, (what, client, *topic) in enumerate(happened):
        time_us = BEGIN_US + hour * HOUR_US + index * 1_000_000
        if what == "come":
            recorder.connection(time_us, client, is_on=True)
        elif what == "publish":
            recorder.publication(time_us, topic[0], client, 10)
        else:
            recorder.subscription(time_us, client, topic[0], is_on=what == "want")
    recorder.flush()


def _tell(told: Told, hour: int, broker: str, what: str, facts: list[str]) -> None:
    client, *topic = facts
    if what == "come":
        told.hosts[client] = broker
    elif what == "want":
        told.wants.setdefault(client, set()).add(topic[0])
    elif what == "drop":
        told.wants.setdefault(client, set()).discard(topic[0])
    else:
        told.counts[hour, topic[0]] += 1
