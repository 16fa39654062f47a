"""Counts of what passes through a broker: plain numbers, since this is asked for every packet."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import msgspec

from meshwright.errors import FilterError
from meshwright.filters.filter import parse_filter
from meshwright.live.system.clock import Clock
from meshwright.live.telemetry.carried import CarriedFrames
from meshwright.live.telemetry.losses import Losses
from meshwright.live.telemetry.trace import TraceRecorder
from meshwright.protocol.forwarding.forwarding import Dropped
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.mobility.departing import HandOverRecord
from meshwright.protocol.mqtt.packets import (
    Connack,
    DeliverQos1Run,
    Puback,
    Publish,
    PublishRun,
    Suback,
    Subscribe,
    Unsubscribe,
)
from meshwright.protocol.mqtt.plain_messages import payload_bytes
from meshwright.protocol.mqtt.qos1_runs import payload_sum
from meshwright.protocol.peers.conversations import Envelope
from meshwright.protocol.sessions.deliveries import Refused
from meshwright.protocol.sessions.publishing import SYSTEM_PREFIX

QOS_COUNT = 3
REFUSED_FROM = 0x80


class HandOvers(msgspec.Struct, kw_only=True):
    """Sessions that went to other brokers, and messages of theirs; see HandOverRecord."""

    sessions: int = 0
    stored: int = 0
    replayed: int = 0

    def count(self, record: HandOverRecord) -> None:
        """One more went."""
        self.sessions += 1
        self.stored += record.stored
        self.replayed += record.replayed


class Meter:
    """What came from clients and went to them, by QoS, and what did not, by reason.

    refused: what clients asked for in vain, by reason code. dropped: messages that a client wanted
    and did not get, losses the same by client and topic; slow_dropped: those of clients that have
    left and had read too slowly. peer_messages: sent to other brokers, by their kind. system_sent:
    of the messages to clients, what brokers tell of themselves. hand_overs: sessions that went to
    other brokers, and messages with them, by mode. trace and carried: get what is of
    use for planning, if that is recorded; that is what clients publish to each other.
    """

    __slots__ = (
        "_clock",
        "_wanted",
        "carried",
        "connects",
        "dropped",
        "hand_overs",
        "losses",
        "peer_messages",
        "received_bytes",
        "received_messages",
        "refused",
        "sent_bytes",
        "sent_messages",
        "slow_dropped",
        "system_sent",
        "trace",
    )  # fmt: skip

    def __init__(self, clock: Clock) -> None:
        self.received_messages = [0] * QOS_COUNT
        self.received_bytes = [0] * QOS_COUNT
        self.sent_messages = [0] * QOS_COUNT
        self.sent_bytes = [0] * QOS_COUNT
        self.refused: defaultdict[int, int] = defaultdict(int)
        self.dropped: defaultdict[str, int] = defaultdict(int)
        self.losses = Losses()
        self.hand_overs: defaultdict[str, HandOvers] = defaultdict(HandOvers)
        self.peer_messages: defaultdict[type, int] = defaultdict(int)
        self.connects = 0
        self.slow_dropped = 0
        self.system_sent = 0
        self.trace: TraceRecorder | None = None
        self.carried: CarriedFrames | None = None
        self._clock = clock
        # What clients whose sessions end with their connections are known to want.
        self._wanted: dict[str, dict[str, None]] = {}

    def received(self, client: str, packet: Any) -> None:
        """A packet came from a client that was let in."""
        if type(packet) is Publish:
            qos = packet.qos
            self.received_messages[qos] += 1
            self.received_bytes[qos] += len(packet.payload)
            if self.trace is not None:
                now_us = self._clock.now_us()
                self.trace.publication(now_us, packet.topic, client, len(packet.payload))
        elif self.trace is not None:
            if isinstance(packet, Subscribe):
                self._wants(client, [one.filter_text for one in packet.subscriptions], is_on=True)
            elif isinstance(packet, Unsubscribe):
                self._wants(client, list(packet.filter_texts), is_on=False)

    def sent(self, packet: Any) -> None:
        """A packet goes to a client."""
        kind = type(packet)
        if kind is Publish:
            qos = packet.qos
            self.sent_messages[qos] += 1
            self.sent_bytes[qos] += len(packet.payload)
            if packet.topic.startswith(SYSTEM_PREFIX):
                self.system_sent += 1
        elif kind is PublishRun:
            self.sent_messages[0] += packet.count
            self.sent_bytes[0] += payload_bytes(packet.packets)
        elif kind is DeliverQos1Run:
            self.sent_messages[1] += packet.run.count
            self.sent_bytes[1] += payload_sum(packet.run)
        elif kind is Puback:
            if packet.reason >= REFUSED_FROM:
                self.refused[packet.reason] += 1
        elif kind is Suback:
            for reason in packet.reasons:
                if reason >= REFUSED_FROM:
                    self.refused[reason] += 1
        elif kind is not Connack:
            reason = getattr(packet, "reason", 0)
            if reason >= REFUSED_FROM:
                self.refused[reason] += 1

    def client_came(self, client: str) -> None:
        """A client was let in."""
        self.connects += 1
        if self.trace is not None:
            self.trace.connection(self._clock.now_us(), client, is_on=True)

    def client_turned_away(self, reason: int) -> None:
        """A client was not let in."""
        self.refused[reason] += 1

    def client_left(self, client: str, *, is_over: bool) -> None:
        """A client's connection is gone; is_over: so is its session."""
        if self.trace is None:
            return
        if is_over:
            self._wants(client, list(self._wanted.get(client, ())), is_on=False)
        self._wanted.pop(client, None)
        self.trace.connection(self._clock.now_us(), client, is_on=False)

    def peer_sent(self, envelope: Any) -> None:
        """An envelope goes to another broker; a run of messages counts as all of them."""
        body = envelope.body if type(envelope) is Envelope else envelope
        carried = getattr(body, "frame", None)
        count = carried.publication.count if type(carried) is StreamFrame else 1
        self.peer_messages[type(body)] += count

    def peer_messages_by_class(self) -> dict[str, int]:
        """What was sent to other brokers, by what it counts as."""
        classes: Counter[str] = Counter()
        for kind, count in self.peer_messages.items():
            classes[getattr(kind, "counts_as", "link")] += count
        return dict(sorted(classes.items()))

    def reported(self, record: Any) -> None:
        """The broker reports something."""
        if isinstance(record, Refused | Dropped):
            self.dropped[record.reason] += 1
        if isinstance(record, Refused):
            self.losses.count(record.client, record.topic)
        if isinstance(record, HandOverRecord):
            self.hand_overs[record.mode].count(record)

    def _wants(self, client: str, topics: list[str], *, is_on: bool) -> None:
        assert self.trace is not None
        wanted = self._wanted.setdefault(client, {})
        now_us = self._clock.now_us()
        for topic in topics:
            if topic.startswith(SYSTEM_PREFIX) or not _is_filter(topic):
                continue
            if is_on:
                wanted[topic] = None
            else:
                wanted.pop(topic, None)
            self.trace.subscription(now_us, client, topic, is_on=is_on)


def _is_filter(text: str) -> bool:
    """Whether the broker takes it: no trace has another."""
    try:
        parse_filter(text)
    except FilterError:
        return False
    return True
