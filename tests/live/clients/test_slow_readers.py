"""A client that does not acknowledge, or does not read, gets so much and costs no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lines_without_sockets import KeptTransport, LineClient, settle
from live_network import running_brokers

from meshwright.live.clients.client_line import UNREAD_BYTES_MAX, ClientLine
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import LimitSettings
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    MQTT_5,
    Pingreq,
    Pingresp,
    Puback,
    Publish,
    Subscribe,
    Subscription,
)


async def reader_and_writer(
    broker: LiveBroker, *, version: int = MQTT_3_1_1, qos: int = 1
) -> tuple[LineClient, LineClient]:
    """A reader of topic t, and somebody who publishes with MQTT 3.1.1."""
    reader = LineClient(broker.listeners[0], ClientLine, version)
    writer = LineClient(broker.listeners[0], ClientLine, MQTT_3_1_1)
    await reader.connect("reader", clean_start=True)
    await writer.connect("writer", clean_start=True)
    reader.say(Subscribe(1, (Subscription("t", qos),)))
    await settle()
    return reader, writer


async def publish(writer: LineClient, count: int, payload_bytes: int, *, qos: int = 1) -> None:
    """Publish so many messages, each when the last was answered."""
    for number in range(1, count + 1):
        payload = (b"%d " % number).ljust(payload_bytes)
        writer.transport.written.clear()
        writer.say(Publish("t", payload, qos, False, number if qos else 0))
        async with asyncio.timeout(5):
            while qos and Puback(number) not in writer.read():
                await asyncio.sleep(0)


def got(reader: LineClient) -> list[int]:
    """The numbers of all messages that a reader has got."""
    return [int(one.payload.split()[0]) for one in reader.read() if isinstance(one, Publish)]


@pytest.mark.parametrize("durability", ["memory", "synced"])
@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
def test_who_never_acknowledges_gets_no_more_than_the_limit(
    tmp_path: Path, version: int, durability: str
) -> None:
    async def story() -> None:
        limits = LimitSettings(inflight_max=20)
        async with running_brokers(
            "chord", tmp_path, 1, durability=durability, limits=limits
        ) as brokers:
            reader, writer = await reader_and_writer(brokers[0], version=version)
            await publish(writer, 1_000, 16)
            await settle()
            assert got(reader) == list(range(1, 21))
            (session,) = [one for one in brokers[0].host.view().sessions if one.client == "reader"]
            assert (session.queued, session.in_flight) == (980, 20)
            while reader.answer_all():
                await asyncio.sleep(0.001)
                await settle()
            assert got(reader) == list(range(1, 1_001))

    asyncio.run(story())


def test_a_run_of_messages_does_not_pass_by_the_limit(tmp_path: Path) -> None:
    async def story() -> None:
        limits = LimitSettings(inflight_max=20)
        async with running_brokers(
            "chord", tmp_path, 1, durability="memory", limits=limits
        ) as brokers:
            reader, writer = await reader_and_writer(brokers[0])
            await publish(writer, 1, 16)
            writer.say(*[Publish("t", b"%d " % n, 1, False, n) for n in range(100, 600)])
            async with asyncio.timeout(5):
                while sum(isinstance(one, Puback) for one in writer.read()) < 501:
                    await asyncio.sleep(0.001)
            await settle()
            assert len(got(reader)) == 20

    asyncio.run(story())


@pytest.mark.parametrize("durability", ["memory", "synced"])
def test_bytes_under_way_to_a_client_are_bounded(tmp_path: Path, durability: str) -> None:
    async def story() -> None:
        limits = LimitSettings(inflight_bytes_max=100_000)
        async with running_brokers(
            "chord", tmp_path, 1, durability=durability, limits=limits
        ) as brokers:
            reader, writer = await reader_and_writer(brokers[0])
            await publish(writer, 50, 10_000)
            assert 10 <= len(got(reader)) <= 11
            while reader.answer_all():
                await asyncio.sleep(0.001)
                await settle()
            assert got(reader) == list(range(1, 51))

    asyncio.run(story())


def test_one_message_goes_however_large_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        limits = LimitSettings(inflight_bytes_max=100)
        async with running_brokers(
            "chord", tmp_path, 1, durability="memory", limits=limits
        ) as brokers:
            reader, writer = await reader_and_writer(brokers[0])
            await publish(writer, 3, 1_000)
            assert got(reader) == [1]
            while reader.answer_all():
                await asyncio.sleep(0.001)
                await settle()
            assert got(reader) == [1, 2, 3]

    asyncio.run(story())


def test_who_does_not_read_its_answers_is_read_no_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, durability="memory") as brokers:
            line = LineClient(brokers[0].listeners[0], ClientLine, MQTT_3_1_1)
            unread = UnreadTransport()
            line.transport = unread
            line.line.connection_made(unread)
            await line.connect("talker")
            line.line.pause_writing()
            line.say(Pingreq())
            assert not unread.is_paused
            unread.unread_bytes = UNREAD_BYTES_MAX + 1
            line.say(Pingreq())
            assert unread.is_paused
            unread.unread_bytes = 0
            line.line.resume_writing()
            assert not unread.is_paused

    asyncio.run(story())


class UnreadTransport(KeptTransport):
    """Says how much of what was written is not read."""

    unread_bytes = 0

    def get_write_buffer_size(self) -> int:
        return self.unread_bytes


def test_who_sends_many_packets_at_once_lets_others_have_their_turn(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1, durability="memory") as brokers:
            loud, other = await reader_and_writer(brokers[0])
            loud.transport.written.clear()
            other.transport.written.clear()
            loud.feed(encode(Pingreq(), MQTT_3_1_1) * 10_000)
            assert not loud.transport.is_reading()
            assert len(loud.read()) < 1_000
            other.say(Pingreq())
            async with asyncio.timeout(20):
                while Pingresp() not in other.read() or len(loud.read()) < 10_000:
                    await asyncio.sleep(0)
            await settle()
            assert loud.transport.is_reading()

    asyncio.run(story())
