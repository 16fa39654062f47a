"""What brokers tell of themselves on $SYS topics."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from live_network import port_of, running_brokers

from meshwright.live.settings import TelemetrySettings
from meshwright.protocol.sessions.publishing import BROKERS_OWN

V311, V5 = aiomqtt.ProtocolVersion.V311, aiomqtt.ProtocolVersion.V5
OFTEN = TelemetrySettings(sys_every_s=0.2)
SELDOM = TelemetrySettings(sys_every_s=600.0)


async def next_value(client: aiomqtt.Client, topic: str, value: bytes | None = None) -> bytes:
    """The next message on a topic, or the next with a value."""
    async with asyncio.timeout(20):
        async for message in client.messages:
            assert isinstance(message.payload, bytes)
            if str(message.topic) == topic and value in (None, message.payload):
                return message.payload
    raise AssertionError("the client was closed")


def test_a_client_reads_of_its_own_broker_at_once_and_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2, telemetry=OFTEN) as brokers:
            first = aiomqtt.Client("127.0.0.1", port_of(brokers[0]), identifier="first")
            second = aiomqtt.Client("127.0.0.1", port_of(brokers[1]), identifier="second")
            async with first, second:
                await first.subscribe("$SYS/broker/#")
                await next_value(first, "$SYS/broker/clients/connected", b"1")
                await second.publish("a", b"x", qos=1)
                await second.subscribe("$SYS/broker/publish/messages/received")
                await next_value(second, "$SYS/broker/publish/messages/received", b"1")
                await next_value(first, "$SYS/broker/publish/messages/received", b"0")

    asyncio.run(story())


def test_what_brokers_tell_the_network_is_retained(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2, telemetry=SELDOM) as brokers:
            client = aiomqtt.Client("127.0.0.1", port_of(brokers[0]))
            async with client:
                await client.subscribe("$SYS/brokers/b1/#")
                assert await next_value(client, "$SYS/brokers/b1/sysdescr") == b"Meshwright"
                await client.unsubscribe("$SYS/brokers/b1/#")
                await client.subscribe("$SYS/brokers/+/stats/sessions.count")
                await next_value(client, "$SYS/brokers/b1/stats/sessions.count", b"0")
                await client.subscribe("$SYS/broker/version")
                assert b"meshwright" in await next_value(client, "$SYS/broker/version")

    asyncio.run(story())


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("qos", [0, 1])
def test_clients_cannot_speak_for_brokers(qos: int, version: Any, tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2, telemetry=SELDOM) as brokers:
            client = aiomqtt.Client("127.0.0.1", port_of(brokers[0]), protocol=version)
            reader = aiomqtt.Client("127.0.0.1", port_of(brokers[1]), protocol=version)
            topic = "$SYS/broker/forged"
            async with client, reader:
                await reader.subscribe([(topic, 1), ("a", 1)])
                for _ in range(3):
                    await client.publish(topic, b"forged", qos=qos)
                await client.publish(topic, b"forged", qos=qos, retain=True)
                await client.publish("a", b"after", qos=1)
                async with asyncio.timeout(20):
                    message = await anext(reader.messages)
                assert message.payload == b"after"
                await reader.subscribe(topic, qos=1)
                await client.publish("a", b"again", qos=1)
                async with asyncio.timeout(20):
                    assert (await anext(reader.messages)).payload == b"again"
            assert brokers[0].host.meter.dropped[BROKERS_OWN] == 4

    asyncio.run(story())
