"""Ordinary MQTT clients at real brokers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiomqtt
import pytest
from live_network import live_brokers


@pytest.mark.parametrize("version", [aiomqtt.ProtocolVersion.V311, aiomqtt.ProtocolVersion.V5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_client_reads_at_one_broker_what_another_wrote_at_another(
    version: aiomqtt.ProtocolVersion, qos: int, tmp_path: Path
) -> None:
    async def story() -> None:
        async with live_brokers("chord", tmp_path) as ports:
            reader = aiomqtt.Client("127.0.0.1", ports[2], protocol=version)
            writer = aiomqtt.Client("127.0.0.1", ports[0], protocol=version)
            async with reader, writer:
                await reader.subscribe("a/+", qos=qos)
                for number in range(20):
                    await writer.publish("a/b", b"%d" % number, qos=qos)
                got = []
                async with asyncio.timeout(20):
                    async for message in reader.messages:
                        got.append(message.payload)
                        if len(got) == 20:
                            break
                assert got == [b"%d" % number for number in range(20)]

    asyncio.run(story())
