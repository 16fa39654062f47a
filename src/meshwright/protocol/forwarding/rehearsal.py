"""Which way a message would take: the forwarding machines of all brokers, joined for one frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from meshwright.filters.filter import Filter
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.protocol.forwarding.forwarding import Forwarding, ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.machines import machine_for
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Turn, nothing

EPOCH = 0


class Hop(NamedTuple):
    """A message from one broker to another, so many hops from where it entered the network."""

    source: str
    target: str
    number: int


class Rehearsal:
    """Brokers that do nothing but forward, on one topic that some of them want.

    Everything is in force before the frame is sent out, and no time passes: what a network does
    while it changes or repairs itself is not shown.
    """

    def __init__(
        self, overlay: Overlay, alive: Iterable[str], *, topic: str, receivers: Iterable[str]
    ) -> None:
        self._topic = topic
        self._receivers = tuple(sorted(receivers))
        self._number = 0
        self._queue: deque[tuple[str, str, ForwardingMessage]] = deque()
        self._hops: dict[tuple[str, str], Hop] = {}
        self._depths: dict[str, int] = {}
        self._machines = {name: self._machine(overlay, name) for name in sorted(alive)}
        living = tuple(self._machines)
        for machine in self._machines.values():
            machine.alive_changed(Turn(0), living)
        self._drain()
        for name in self._receivers:
            self._machines[name].add_interest(Turn(0), Filter(topic), nothing)
        self._drain()

    def hops_from(self, source: str) -> tuple[Hop, ...]:
        """The hops of one message that enters the network at a broker, in order."""
        self._hops, self._depths = {}, {source: 0}
        self._number += 1
        publication = Publication("rehearsal", self._number, self._topic)
        frame = StreamFrame(source, self._number, publication)
        self._machines[source].send_out(Turn(0), frame)
        self._drain()
        return tuple(self._hops.values())

    def _machine(self, overlay: Overlay, name: str) -> Forwarding:
        around = Surroundings(
            me=name,
            epoch=EPOCH,
            overlay=overlay,
            send=partial(self._send, name),
            tell=partial(self._send, name),
            arrived=lambda _turn, _frame: None,
            receivers_of=lambda _topic: self._receivers,
        )
        return machine_for(around)

    def _send(self, source: str, _turn: Turn, target: str, message: ForwardingMessage) -> None:
        self._queue.append((source, target, message))
        if message.counts_as == "publication" and source in self._depths:
            number = self._depths[source] + 1
            self._depths.setdefault(target, number)
            self._hops.setdefault((source, target), Hop(source, target, number))

    def _drain(self) -> None:
        while self._queue:
            source, target, message = self._queue.popleft()
            if target in self._machines:
                self._machines[target].handle(Turn(0), source, message)
