"""A broker that is behind makes those wait who publish for its clients, and loses nothing of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from lines_without_sockets import LineClient, settle
from live_network import running_brokers

from meshwright.live.clients.client_line import ClientLine
from meshwright.live.peers.connection import CROWDED_BYTES, PeerConnection
from meshwright.protocol.mqtt.packets import MQTT_3_1_1, Publish, Suback, Subscribe, Subscription

PAYLOAD_BYTES = 16_384
BLOCK_COUNT = 16
MESSAGE_COUNT = 60 * BLOCK_COUNT


def test_publishers_are_read_later_while_a_peer_is_behind(tmp_path: Path) -> None:
    messages = [
        Publish("t", (b"%d " % number).ljust(PAYLOAD_BYTES)) for number in range(MESSAGE_COUNT)
    ]

    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2, durability="memory") as (near, far):
            reader = LineClient(far.listeners[0], ClientLine, MQTT_3_1_1)
            writer = LineClient(near.listeners[0], ClientLine, MQTT_3_1_1)
            await reader.connect("reader")
            await writer.connect("writer")
            reader.say(Subscribe(1, (Subscription("t"),)))
            await until(lambda: any(isinstance(one, Suback) for one in reader.read()))
            writer.say(messages[0])
            await until(lambda: published(reader) == messages[:1])
            (behind,) = far.host.peers._connections.values()
            stop_reading(behind)

            said = 1
            while not writer.transport.is_paused:
                assert said < MESSAGE_COUNT, "the peer is never behind"
                writer.say(*messages[said : said + BLOCK_COUNT])
                said += BLOCK_COUNT
                await settle()
            assert near.host.peers.is_crowded()
            taken = near.host.meter.received_messages[0]
            await asyncio.sleep(0.02)
            assert near.host.meter.received_messages[0] == taken < MESSAGE_COUNT
            (ahead,) = near.host.peers._connections.values()
            assert ahead._transport is not None
            waiting_bytes = ahead._transport.get_write_buffer_size()
            assert waiting_bytes < CROWDED_BYTES + 2 * BLOCK_COUNT * PAYLOAD_BYTES

            assert behind._transport is not None
            behind._transport.resume_reading()
            while said < MESSAGE_COUNT:
                await until(lambda: not writer.transport.is_paused)
                writer.say(*messages[said : said + BLOCK_COUNT])
                said += BLOCK_COUNT
            await until(lambda: len(reader.transport.written) >= MESSAGE_COUNT * PAYLOAD_BYTES)
            await settle()
            assert published(reader) == messages

    asyncio.run(story())


def stop_reading(connection: PeerConnection) -> None:
    """Leave what comes on the wire, of which little fits there."""
    assert connection._transport is not None
    plain = connection._transport.get_extra_info("socket")
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    connection._transport.pause_reading()


def published(reader: LineClient) -> list[Publish]:
    return [packet for packet in reader.read() if isinstance(packet, Publish)]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.001)
