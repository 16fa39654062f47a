"""What live brokers sent, beside what the closed form says they should have.

The closed form is asked for every publication by itself, with the brokers that wanted its topic as
it was sent. It delivers on the way down only, while a live broker takes what passes by on the way
up, so the measured delay may be less; and a change of interest takes a moment to be in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from meshwright.history.history import History, Published
from meshwright.manager.collecting.measuring import Traffic, message_count
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.model.times import SECOND_US
from meshwright.planning.evaluation.evaluate import forwarding_of

MILLISECOND_US = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Sums over all publications.

    deliveries: to clients. messages: between brokers. relayed: those that are spread to a broker
    that does not want them. arrivals: of a publication at another broker that wants it, after
    arrival_hops hops together.
    """

    deliveries: int
    messages: int
    relayed: int
    arrivals: int
    arrival_hops: int

    @property
    def messages_per_delivery(self) -> float:
        return self.messages / max(self.deliveries, 1)

    @property
    def relays_per_delivery(self) -> float:
        return self.relayed / max(self.deliveries, 1)

    @property
    def hops_mean(self) -> float:
        return self.arrival_hops / max(self.arrivals, 1)


class Window(NamedTuple):
    """A part of a history: from a time on, and until before another."""

    since_us: int
    until_us: int

    def has(self, time_us: int) -> bool:
        return self.since_us <= time_us < self.until_us

    @property
    def seconds(self) -> float:
        return (self.until_us - self.since_us) / SECOND_US


def measured(history: History, window: Window, traffic: Traffic) -> Measures:
    """What clients got in a window, and what brokers counted in it."""
    once = {
        (one.client, one.publisher, one.sequence)
        for one in history.deliveries
        if window.has(one.time_us)
    }
    carried = traffic.values()
    return Measures(
        deliveries=len(once),
        messages=message_count(traffic),
        relayed=sum(one.relayed for one in carried),
        arrivals=sum(one.arrivals for one in carried),
        arrival_hops=sum(one.arrival_hops for one in carried),
    )


def due(
    overlay: Overlay, history: History, window: Window, moved: Mapping[str, str] | None = None
) -> Measures:
    """The closed form of a window's publications, each with the interests of its moment.

    moved: clients that are taken to be at other brokers than they were.
    """
    totals: Counter[str] = Counter()
    costs = _Costs(overlay)
    places = moved or {}
    for published, readers in _with_readers(history):
        if window.has(published.attempted_us):
            brokers = {places.get(client, broker) for client, broker in readers.items()}
            source = places.get(published.publisher, published.broker)
            totals.update(costs.of(published.topic, tuple(sorted(brokers)), source))
            totals["deliveries"] += len(readers)
    names = ("deliveries", "messages", "relayed", "arrivals", "arrival_hops")
    return Measures(**{name: totals[name] for name in names})


def publications_per_s(history: History, window: Window) -> float:
    """How often clients published in a window."""
    sent = sum(window.has(one.attempted_us) for one in history.publications.values())
    return sent / max(window.seconds, 1e-9)


def delays_ms(history: History, window: Window) -> np.ndarray:
    """From the publisher's sending to each client's receiving: (delivery,)."""
    sent = {event: one.attempted_us for event, one in history.publications.items()}
    waits = [
        one.time_us - sent[one.publisher, one.sequence]
        for one in history.deliveries
        if window.has(one.time_us) and (one.publisher, one.sequence) in sent
    ]
    return np.array(waits, dtype=np.float64) / MILLISECOND_US


def longest_answer_ms(history: History, window: Window) -> float:
    """The longest that a publication of a window waited for its acknowledgement."""
    waits = [
        one.acknowledged_us - one.attempted_us
        for one in history.publications.values()
        if window.has(one.attempted_us) and one.acknowledged_us is not None
    ]
    return max(waits, default=0) / MILLISECOND_US


def subscription_changes(
    history: History, window: Window, moved: Mapping[str, str] | None = None
) -> int:
    """How often brokers began or ended to want a topic, for all their clients together."""
    places = moved or {}
    brokers: dict[str, str] = {}
    wants: dict[str, set[str]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    changes = 0

    def add(client: str, topic: str, step: int, time_us: int) -> None:
        nonlocal changes
        key = (places.get(client, brokers.get(client, "")), topic)
        counts[key] += step
        is_change = counts[key] == (1 if step > 0 else 0)
        changes += is_change and window.has(time_us)

    for time_us, client, name, is_on in sorted(_changes(history), key=lambda one: one[0]):
        own = wants.setdefault(client, set())
        if is_on is None:
            for topic in sorted(own):
                add(client, topic, -1, time_us)
            brokers[client] = name
            for topic in sorted(own):
                add(client, topic, 1, time_us)
        elif is_on and name not in own:
            own.add(name)
            add(client, name, 1, time_us)
        elif not is_on and name in own:
            own.remove(name)
            add(client, name, -1, time_us)
    return changes


class _Costs:
    """Messages of a publication by its topic, the brokers that want it, and where it enters."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._names = tuple(map(BrokerName, overlay.brokers))
        self._numbers = {name: number for number, name in enumerate(overlay.brokers)}
        self._known: dict[tuple[str, tuple[str, ...], str], dict[str, int]] = {}

    def of(self, topic: str, members: tuple[str, ...], source: str) -> dict[str, int]:
        """Messages, those that are relayed, and arrivals at other brokers with their hops."""
        key = (topic, members, source)
        if key not in self._known:
            self._known[key] = self._count(*key)
        return self._known[key]

    def _count(self, topic: str, members: tuple[str, ...], source: str) -> dict[str, int]:
        wanting = np.array([self._numbers[name] for name in members], dtype=np.int64)
        interests = interests_from_pairs(
            wanting, np.zeros_like(wanting), len(self._overlay.brokers), 1
        )
        snapshot = Snapshot(self._names, (TopicName(topic),), interests, np.ones(1))
        publisher = self._numbers[source]
        found = forwarding_of(self._overlay, snapshot).publication(0, publisher)
        others = np.sort(wanting) != publisher
        hops = np.where(found.delays_hops < 0, 1, found.delays_hops)  # whom nobody joins: straight
        return {
            "messages": found.total_live,
            "relayed": found.external,
            "arrivals": int(others.sum()),
            "arrival_hops": int(hops[others].sum()),
        }


def _with_readers(history: History) -> Iterator[tuple[Published, dict[str, str]]]:
    """Every publication with the clients that wanted its topic as it was sent, and their brokers.

    An interest counts from when it was granted until its end is asked for, and a client is where it
    connected last.
    """
    changes = sorted(_changes(history), key=lambda change: change[0], reverse=True)
    brokers: dict[str, str] = {}
    readers: dict[str, dict[str, None]] = {}
    for published in sorted(history.publications.values(), key=lambda one: one.attempted_us):
        while changes and changes[-1][0] <= published.attempted_us:
            _, client, name, is_on = changes.pop()
            if is_on is None:
                brokers[client] = name
            elif is_on:
                readers.setdefault(name, {})[client] = None
            else:
                readers[name].pop(client, None)
        yield published, {client: brokers[client] for client in readers.get(published.topic, ())}


def _changes(history: History) -> Iterator[tuple[int, str, str, bool | None]]:
    """Time, client, and a topic with whether it is wanted from then on, or a broker with None."""
    for one in history.subscriptions:
        for time_us, is_on in ((one.granted_us, True), (one.end_requested_us, False)):
            if time_us is not None:
                yield time_us, one.client, one.filter_text, is_on
    for own in history.connections.values():
        for connection in own:
            yield connection.opened_us, connection.client, connection.broker, None
