"""The publishing half of a client: packet identifiers, a window, and what to send again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from meshwright.history.history import History, Properties, Published, payload_of
from meshwright.protocol.mqtt.packets import (
    PACKET_IDENTIFIER_NOT_FOUND,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)

PACKET_ID_MAX = 65_535
REFUSED = 0x80  # reason codes from here on say no


class InFlight(NamedTuple):
    """A publication that is not settled yet; is_released once its PUBREC came."""

    packet: Publish
    published: Published
    is_released: bool = False


class Outbox:
    """What a client publishes: first what its session owes, then what waits, all in order."""

    def __init__(
        self, name: str, history: History, *, window: int, waiting_max: int,
        send: Callable[[object], None],
    ) -> None:  # fmt: skip
        self._name = name
        self._history = history
        self._window = window
        self._waiting_max = waiting_max
        self._send = send
        self._sequence = 0
        self._packet_id = 0
        self._waiting: deque[tuple[int, Publish]] = deque()
        self._in_flight: dict[int, InFlight] = {}

    def __len__(self) -> int:
        """Publications that wait for something."""
        return len(self._waiting) + len(self._in_flight)

    def put(self, topic: str, qos: int, properties: Properties, *, retain: bool) -> None:
        """Take a publication, or nothing if too much waits already."""
        if len(self._waiting) < self._waiting_max:
            self._sequence += 1
            payload = payload_of(self._name, self._sequence)
            packet = Publish(topic, payload, qos, retain, properties=properties)
            self._waiting.append((self._sequence, packet))

    def fresh_packet_id(self) -> int:
        """An identifier that no publication uses."""
        while True:
            self._packet_id = self._packet_id % PACKET_ID_MAX + 1
            if self._packet_id not in self._in_flight:
                return self._packet_id

    def forget(self) -> None:
        """The session is gone, and with it what was not settled."""
        self._in_flight.clear()

    def resume(self) -> None:
        """Send again what the session owes."""
        for packet_id, (packet, published, is_released) in self._in_flight.items():
            if is_released:
                self._send(Pubrel(packet_id))
            else:
                published.resend_count += 1
                self._send(msgspec.structs.replace(packet, is_duplicate=True))

    def send_waiting(self, now_us: int, broker: str) -> None:
        """Send what waits, as far as the window allows."""
        while self._waiting:
            sequence, packet = self._waiting[0]
            if packet.qos and len(self._in_flight) >= self._window:
                return
            self._waiting.popleft()
            published = Published(
                self._name, sequence, packet.topic, packet.qos, packet.properties,
                attempted_us=now_us, broker=broker,
            )  # fmt: skip
            self._history.attempted(published)
            if packet.qos:
                packet = msgspec.structs.replace(packet, packet_id=self.fresh_packet_id())
                self._in_flight[packet.packet_id] = InFlight(packet, published)
            self._send(packet)

    def answered(self, answer: Puback | Pubrec | Pubcomp, now_us: int, broker: str) -> bool:
        """An answer came; False if it answers nothing that is under way."""
        entry = self._in_flight.get(answer.packet_id)
        if entry is None or isinstance(answer, Puback) != (entry.packet.qos == 1):
            if isinstance(answer, Pubrec) and answer.reason < REFUSED:
                self._send(Pubrel(answer.packet_id, PACKET_IDENTIFIER_NOT_FOUND))
            return False
        if not isinstance(answer, Pubcomp) and not entry.is_released:
            _judge(entry.published, answer.reason, now_us, broker)
        if isinstance(answer, Pubrec) and answer.reason < REFUSED:
            self._in_flight[answer.packet_id] = entry._replace(is_released=True)
            self._send(Pubrel(answer.packet_id))
        else:
            del self._in_flight[answer.packet_id]
        return True


def _judge(published: Published, reason: int, now_us: int, broker: str) -> None:
    if reason < REFUSED:
        published.acknowledged_us = now_us
        published.acknowledged_by = broker
    else:
        published.refused = reason
