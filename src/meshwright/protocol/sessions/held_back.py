"""Clients of MQTT 3 that publish where there is no room: they cannot be told, so they wait.

Their message is not answered, and their later packets wait behind it, except answers (which make
room if the client's own queue is the full one) and DISCONNECT. The host stops reading from a client
of which much waits. What waits is forgotten with its connection: the client got no answer, and
sends it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.qos1_runs import numbers, packet_ids, payload_of
from meshwright.protocol.sessions.deliveries import Refused
from meshwright.protocol.sessions.full_queues import FullQueue
from meshwright.protocol.sessions.session import Session

# A client that sends more nevertheless is disconnected; it comes back and sends again.
HELD_BYTES_MAX = 16 << 20
TOO_MUCH = "too much came while there was no room for it; send it again"
LEFT = "its publisher left before there was room for it"

# Packets that wait behind a message; all others make room, or end the connection.
IN_TURN = (
    packets.Publish,
    packets.PublishQos1Runs,
    packets.PublishRun,
    packets.Subscribe,
    packets.Unsubscribe,
)


class HeldBackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A client waits for room to publish on a topic, or waits no more.

    waits_for: the client or group whose queue is full, and at which broker; empty if other brokers
    do not take what is kept for them.
    """

    client: str
    topic: str
    waits_for: str
    broker: str
    is_over: bool
    waited_s: float


class Held:
    """What one client has said since there was no room, on one connection."""

    __slots__ = ("byte_count", "connection", "packets", "session", "since_us", "waits_for")

    def __init__(self, session: Session, since_us: int, waits_for: FullQueue) -> None:
        self.session = session
        self.connection = session.connection
        self.since_us = since_us
        self.waits_for = waits_for
        self.packets: deque[Any] = deque()
        self.byte_count = 0

    @property
    def topic(self) -> str:
        """That on which there is no room."""
        first = self.packets[0] if self.packets else None
        return first.topic if isinstance(first, packets.Publish) else ""


class HeldBack:
    """All clients that wait, by name.

    why_wait: for which queue a message has to wait, if for any. do: what is done with a packet that
    waits no more. away: too much waits of a client.
    """

    def __init__(
        self,
        *,
        why_wait: Callable[[Turn, Session, packets.Publish], FullQueue | None],
        do: Callable[[Turn, Session, Any], None],
        away: Callable[[Turn, Session, str], None],
    ) -> None:
        self._why_wait = why_wait
        self._do = do
        self._away = away
        self.waiting: dict[str, Held] = {}
        self.change_count = 0

    def hold(
        self, turn: Turn, session: Session, packet: packets.Publish, waits_for: FullQueue
    ) -> None:
        """There is no room for a message."""
        held = self.waiting[session.client] = Held(session, turn.now_us, waits_for)
        self.change_count += 1
        turn.report(_record(held, packet.topic, turn.now_us, is_over=False))
        self._append(turn, held, packet)

    def takes(self, turn: Turn, session: Session, packet: Any) -> bool:
        """Keep a packet if others of its client wait; False if it may be taken now."""
        held = self.waiting.get(session.client)
        if held is None or not isinstance(packet, IN_TURN):
            return False
        if isinstance(packet, packets.PublishQos1Runs):
            for run in packet.runs:
                for single in single_packets(run):
                    self._append(turn, held, single)
        else:
            self._append(turn, held, packet)
        return True

    def drop(self, turn: Turn, client: str) -> None:
        """A client's connection is over: forget what waited, and report its QoS 0 as lost."""
        held = self.waiting.pop(client, None)
        if held is None:
            return
        self.change_count += 1
        turn.report(_record(held, held.topic, turn.now_us, is_over=True))
        for packet in held.packets:
            if isinstance(packet, packets.Publish) and not packet.qos:
                turn.report(
                    Refused(
                        client=client,
                        publisher=held.session.identity,
                        sequence=0,
                        topic=packet.topic,
                        reason=LEFT,
                    )
                )

    def retry(self, turn: Turn) -> None:
        """There may be room: take what waits, client by client, until there is none."""
        for held in list(self.waiting.values()):
            if self.waiting.get(held.session.client) is held:
                self._go_on(turn, held)

    def _go_on(self, turn: Turn, held: Held) -> None:
        session, topic = held.session, held.topic
        while held.packets:
            packet = held.packets[0]
            if isinstance(packet, packets.Publish):
                waits_for = self._why_wait(turn, session, packet)
                if waits_for is not None:
                    held.waits_for = waits_for
                    return
            held.packets.popleft()
            held.byte_count -= _size_bytes(packet)
            self._do(turn, session, packet)
        if self.waiting.pop(session.client, None) is not None:
            self.change_count += 1
            turn.report(_record(held, topic, turn.now_us, is_over=True))

    def _append(self, turn: Turn, held: Held, packet: Any) -> None:
        held.packets.append(packet)
        held.byte_count += _size_bytes(packet)
        if held.byte_count > HELD_BYTES_MAX and len(held.packets) > 1:
            self._away(turn, held.session, TOO_MUCH)


def single_packets(run: packets.Qos1Run) -> list[packets.Publish]:
    """The messages of a run one by one, as their client sent them."""
    return [
        packets.Publish(run.topic, payload_of(run, index), 1, False, packet_id)
        for index, packet_id in enumerate(numbers(packet_ids(run)))
    ]


def _size_bytes(packet: Any) -> int:
    if isinstance(packet, packets.Publish):
        return len(packet.topic) + len(packet.payload)
    return 0


def _record(held: Held, topic: str, now_us: int, *, is_over: bool) -> HeldBackRecord:
    return HeldBackRecord(
        client=held.session.client,
        topic=topic,
        waits_for=held.waits_for.client,
        broker=held.waits_for.broker,
        is_over=is_over,
        waited_s=round((now_us - held.since_us) / SECOND_US, 3),
    )
