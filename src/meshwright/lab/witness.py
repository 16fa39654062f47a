"""Live MQTT clients that write down what they see: a history that checkers can judge."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from paho.mqtt.client import MQTTMessage

from meshwright.client import Client
from meshwright.errors import PeerError
from meshwright.history.history import (
    Connected,
    Delivered,
    History,
    Published,
    SessionLost,
    Subscribed,
    payload_of,
    read_payload,
)

REFUSED = 0x80


class Stopwatch:
    """Time since a run began, one for all its clients."""

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._start_ns) // 1_000


class Witness:
    """One client with a session that lasts, and its part of the history.

    brokers: names by addresses. home: the address where it begins.
    """

    def __init__(
        self,
        name: str,
        brokers: Mapping[str, str],
        home: str,
        *,
        history: History,
        stopwatch: Stopwatch,
    ) -> None:
        self.name = name
        self._history = history
        self._now_us = stopwatch.now_us
        self._names = brokers
        addresses = list(brokers)
        first = addresses.index(home)
        self._client = Client(addresses[first:] + addresses[:first], name, watcher=self)
        self._connection: Connected | None = None
        self._sequence = 0
        self._unanswered: dict[int, Published] = {}

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    @property
    def broker(self) -> str:
        """Where the client is, or is going to."""
        return self._names[self._client.broker]

    async def subscribe(self, topic_filter: str, qos: int) -> Subscribed:
        """Ask for messages, until they are granted."""
        asked = self._history.subscribing(self.name, topic_filter, qos, self._now_us())
        await self._client.subscribe(topic_filter, qos)
        asked.granted_us = self._now_us()
        return asked

    async def unsubscribe(self, asked: Subscribed) -> None:
        """Take back a subscription."""
        asked.end_requested_us = self._now_us()
        await self._client.unsubscribe(asked.filter_text)
        asked.ended_us = self._now_us()

    async def publish(self, topic: str, qos: int, *, retain: bool = False) -> Published:
        """Publish, and wait for the answer if there is one."""
        self._sequence += 1
        sequence = self._sequence
        published = Published(self.name, sequence, topic, qos, (), self._now_us(), self.broker)
        self._history.attempted(published)
        if qos:
            self._unanswered[sequence] = published
        try:
            await self._client.publish(topic, payload_of(self.name, sequence), qos, retain=retain)
        except PeerError:
            published.refused = REFUSED
        else:
            if qos:
                published.acknowledged_us = self._now_us()
                published.acknowledged_by = self.broker
        self._unanswered.pop(sequence, None)
        return published

    async def move_to(self, address: str) -> None:
        """Go to another broker."""
        await self._client.move_to(address)

    async def leave(self) -> None:
        """Say goodbye; the session stays."""
        await self._client.__aexit__(None, None, None)

    async def come_back(self, address: str) -> None:
        """Connect again, at any broker."""
        self._client.broker = address
        await self._client.__aenter__()

    def connected(self, broker: str, *, session_present: bool) -> None:
        now_us, name = self._now_us(), self._names[broker]
        previous = self._connection
        if previous is not None and not session_present:
            lost = SessionLost(now_us, self.name, previous.broker, name)
            self._history.sessions_lost.append(lost)
        self._connection = self._history.connected(
            self.name, name, now_us, session_present=session_present
        )
        for published in self._unanswered.values():
            published.resend_count += 1

    def disconnected(self) -> None:
        if self._connection is not None and self._connection.ended_us is None:
            self._connection.ended_us = self._now_us()

    def received(self, message: MQTTMessage) -> None:
        assert self._connection is not None
        publisher, sequence = read_payload(bytes(message.payload)) or (message.payload.hex(), 0)
        self._history.deliveries.append(
            Delivered(
                self._now_us(),
                self.name,
                publisher,
                sequence,
                message.topic,
                message.qos,
                bool(message.dup),
                bool(message.retain),
                self._connection.number,
                self._connection.broker,
            )
        )
