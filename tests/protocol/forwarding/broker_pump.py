"""Forwarding machines of many brokers joined by one queue; nothing else of a broker is there."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from meshwright.filters.filter import parse_filter
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.model.snapshot import Snapshot
from meshwright.protocol.forwarding.acyclic.living_tree import living_root
from meshwright.protocol.forwarding.forwarding import Forwarding, Surroundings
from meshwright.protocol.foundation.effects import SetTimer, TimerKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.reconfiguration.messages import BuiltLate

EPOCH = 7
MESSAGES_MAX = 200_000


class Pump:
    """Brokers, what each wants, and the messages between them in the order of sending."""

    def __init__(self, overlay: Overlay, machine: Callable[[Surroundings], Forwarding]) -> None:
        self.overlay = overlay
        self.machine = machine
        self.machines: dict[str, Forwarding] = {}
        self.wanted: dict[str, set[str]] = {name: set() for name in overlay.brokers}
        self.queue: deque[tuple[str, str, Any]] = deque()
        self.sent: Counter[type] = Counter()
        self.links_used: set[tuple[str, str]] = set()
        self.arrivals: Counter[str] = Counter()
        self.done: Counter[tuple[str, str]] = Counter()
        self.number = 0
        self.now_us = 0
        self.timers: dict[tuple[str, TimerKey], int] = {}
        for name in overlay.brokers:
            self.start(name)

    def start(self, name: str) -> None:
        self.machines[name] = self.machine(
            Surroundings(
                me=name,
                epoch=EPOCH,
                overlay=self.overlay,
                send=partial(self._send, name),
                tell=partial(self._send, name),
                arrived=partial(self._arrived, name),
                receivers_of=self._receivers_known,
            )
        )

    def add(self, name: str, topic: str) -> None:
        self.wanted[name].add(topic)
        self._add(name, topic)

    def remove(self, name: str, topic: str) -> None:
        self.wanted[name].discard(topic)
        with self._turn(name) as turn:
            self.machines[name].remove_interest(turn, parse_filter(topic))

    def kill(self, name: str) -> None:
        """End a broker; what it sent before still arrives."""
        del self.machines[name]
        for entry in [entry for entry in self.timers if entry[0] == name]:
            del self.timers[entry]

    def revive(self, name: str, alive: Iterable[str]) -> None:
        """Start a broker anew, which wants what it wanted; nothing old is under way any more."""
        self.queue = deque(entry for entry in self.queue if name not in entry[:2])
        self.start(name)
        self.see(name, alive)
        for other in sorted(self.machines):
            if other != name:
                with self._turn(other) as turn:
                    self.machines[other].peer_renewed(turn, name)
        for topic in sorted(self.wanted[name]):
            self._add(name, topic)

    def see(self, name: str, alive: Iterable[str]) -> None:
        seen = tuple(sorted({*alive, name}))
        with self._turn(name) as turn:
            self.machines[name].alive_changed(turn, seen)

    def step(self, count: int = MESSAGES_MAX) -> None:
        """Deliver so many messages, or all if there are fewer."""
        while self.queue and count:
            source, target, message = self.queue.popleft()
            assert message.epoch == EPOCH
            if target in self.machines:
                with self._turn(target) as turn:
                    if isinstance(message, BuiltLate):
                        self.machines[target].peer_renewed(turn, source)
                    else:
                        self.machines[target].handle(turn, source, message)
            count -= 1

    def drain(self) -> None:
        self.step()
        assert not self.queue, "messages go in a circle"

    def pass_time(self, duration_us: int) -> None:
        """Let timers fire as time goes by, and deliver all that follows from each at once."""
        end_us = self.now_us + duration_us
        while self.timers and min(self.timers.values()) <= end_us:
            (name, key), self.now_us = min(self.timers.items(), key=lambda timer: timer[1])
            del self.timers[name, key]
            with self._turn(name) as turn:
                self.machines[name].timer_fired(turn, key)
            self.drain()
        self.now_us = end_us

    def publish(self, origin: str, topic: str, **options: Any) -> int:
        """Send one frame out and deliver all; returns the messages it took."""
        self.send_out(origin, topic, **options)
        self.arrivals[origin] += 1  # it has what it sends out, and is not told of it
        self.drain()
        return self.sent.total()

    def send_out(
        self,
        origin: str,
        topic: str,
        *,
        number: int | None = None,
        properties: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Let a broker send one frame out, and count anew what follows from it."""
        self.number += 1
        self.arrivals.clear()
        self.sent.clear()
        publication = Publication("client", self.number, topic, properties=properties)
        frame = StreamFrame(origin, self.number if number is None else number, publication)
        with self._turn(origin) as turn:
            self.machines[origin].send_out(turn, frame)

    def sent_of(self, message_class: str) -> int:
        """Messages of a class that were sent since the count was cleared."""
        return sum(count for kind, count in self.sent.items() if kind.counts_as == message_class)

    def receivers(self, topic: str) -> set[str]:
        return {name for name in self.machines if topic in self.wanted[name]}

    def snapshot(self, topics: tuple[str, ...]) -> Snapshot:
        """What the living want now, as planning sees it."""
        brokers = tuple(name for name in self.overlay.brokers if name in self.machines)
        rows = [[topics.index(topic) for topic in self.wanted[name]] for name in brokers]
        return Snapshot(
            brokers=tuple(map(BrokerName, brokers)),
            topics=tuple(map(TopicName, topics)),
            interests=interests_from_sets(rows, len(topics)),
            publications=np.ones(len(topics)),
        )

    def living_overlay(self) -> Overlay:
        """The same design as if only the living had ever been in it.

        Where there are no positions, its links are those that the living keep up.
        """
        brokers = tuple(name for name in self.overlay.brokers if name in self.machines)
        near = {name: self.machines[name].neighbours() for name in brokers}
        heirs = self.overlay.positions
        params = dict(self.overlay.params)
        if params.get("root") is not None:
            params["root"] = living_root(self.overlay, frozenset(brokers))
        return Overlay(
            design=self.overlay.design,
            params=params,
            brokers=brokers,
            links=tuple(
                (one, other)
                for one, other in combinations(brokers, 2)
                if heirs is None and (other in near[one] or one in near[other])
            ),
            positions=None if heirs is None else {name: heirs[name] for name in brokers},
        )

    def _receivers_known(self, topic: str) -> tuple[str, ...]:
        """As an origin reads them from the directory: the dead among them, and in any order."""
        return tuple(name for name in sorted(self.overlay.brokers) if topic in self.wanted[name])

    def _add(self, name: str, topic: str) -> None:
        def done(turn: Turn) -> None:
            del turn
            self.done[name, topic] += 1

        with self._turn(name) as turn:
            self.machines[name].add_interest(turn, parse_filter(topic), done)

    @contextmanager
    def _turn(self, name: str) -> Iterator[Turn]:
        """One step of a broker, after which the timers that it asked for are noted."""
        turn = Turn(self.now_us)
        yield turn
        for effect in turn.effects:
            assert isinstance(effect, SetTimer)
            self.timers[name, effect.key] = effect.at_us

    def _send(self, source: str, turn: Turn, target: str, message: Any) -> None:
        del turn
        assert source != target
        self.sent[type(message)] += 1
        self.links_used.add((min(source, target), max(source, target)))
        self.queue.append((source, target, message))

    def _arrived(self, name: str, turn: Turn, frame: StreamFrame) -> None:
        del turn, frame
        self.arrivals[name] += 1
