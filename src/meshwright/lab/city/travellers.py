"""Clients in the city, as simple as can be: they only count what they get."""

from __future__ import annotations

from collections import Counter
from typing import Any

from meshwright.lab.city.unicast import Tally
from meshwright.protocol.mqtt.packets import (
    Connack,
    Connect,
    Puback,
    Publish,
    Subscribe,
    Subscription,
)
from meshwright.sim.physics.lines import Line
from meshwright.sim.world import World

EXPIRY_S = 86_400
MINUTE_US = 60_000_000
# What comes later than this after it was published had been stored.
LIVE_WITHIN_US = 5_000_000
TOPICS = tuple(f"event/{n // 9}/{n // 3 % 3}/{n % 3}" for n in range(27))
# The catalogue of filters, each with the types of events that it takes.
CATALOGUE: dict[str, range] = {
    **{topic: range(number, number + 1) for number, topic in enumerate(TOPICS)},
    **{f"event/{n // 3}/{n % 3}/+": range(3 * n, 3 * n + 3) for n in range(9)},
    **{f"event/{n}/+/+": range(9 * n, 9 * n + 9) for n in range(3)},
    "event/+/+/+": range(27),
}


class Traveller:
    """A subscriber with one filter and a session that lasts.

    stays: its session stays at the first broker; what reaches it elsewhere was sent on from there,
    and so is no multicast.
    """

    def __init__(
        self, name: str, wanted: str, world: World, tally: Tally, *, stays: bool = False
    ) -> None:
        self.name = name
        self._stays = stays
        self._home: str | None = None
        self._is_at_home = True
        self.wanted = wanted
        self.received_count = 0
        self._agenda = world.agenda
        self._lines = world.lines
        self._tally = tally
        self._line: Line | None = None

    def connect(self, broker: str) -> None:
        """Connect, and find the session again."""
        if self._stays and self._home is None:
            self._home = broker
        self._is_at_home = self._home in (None, broker)
        carried = (Subscription(self.wanted, 1),)
        packet = Connect(session_expiry_s=EXPIRY_S, carried=carried)
        self._line = self._lines.open(self, broker, packet)

    def leave(self) -> None:
        """Say goodbye."""
        if self._line is not None:
            self._lines.leave(self._line)
            self._line = None

    def received(self, packet: Any) -> None:
        """Subscribe in a new session; count and acknowledge what comes."""
        line = self._line
        if line is None:
            return
        if isinstance(packet, Publish):
            now_us = self._agenda.now_us
            self.received_count += 1
            if self._is_at_home and now_us - int(packet.payload) < LIVE_WITHIN_US:
                self._tally.count(now_us, "live")
            self._lines.send(line, Puback(packet.packet_id))
        elif isinstance(packet, Connack) and not packet.session_present:
            subscription = Subscription(self.wanted, 1)
            self._lines.send(line, Subscribe(1, (subscription,)))

    def closed(self) -> None:
        """Lines break only when their broker does, which none does here."""


class Publisher:
    """Publishes on one topic once a minute."""

    def __init__(self, name: str, kind: int, world: World, end_us: int) -> None:
        self.name = name
        self.published: Counter[int] = Counter()
        self._kind = kind
        self._world = world
        self._end_us = end_us
        self._line: Line | None = None

    def connect(self, broker: str) -> None:
        """Connect for the whole run."""
        self._line = self._world.lines.open(self, broker, Connect(clean_start=True))

    def publish(self) -> None:
        """Publish now, and again in a minute."""
        now_us = self._world.agenda.now_us
        if self._line is None or now_us >= self._end_us:
            return
        self.published[self._kind] += 1
        packet_id = self.published[self._kind] % 65_535 + 1
        packet = Publish(TOPICS[self._kind], str(now_us).encode(), 1, packet_id=packet_id)
        self._world.lines.send(self._line, packet)
        self._world.at(now_us + MINUTE_US, self.publish)

    def received(self, packet: Any) -> None:
        """Answers are taken for granted."""

    def closed(self) -> None:
        """Lines break only when their broker does, which none does here."""
