"""Ordinary MQTT clients at real brokers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiomqtt
import pytest
from live_network import small_overlay

from meshwright.live.live_broker import LiveBroker
from meshwright.live.settings import ListenerSettings, LiveSettings, PeerLinkSettings

ANY_PORT = "127.0.0.1:0"


@asynccontextmanager
async def live_brokers(design: str, folder: Path, count: int = 3) -> AsyncIterator[list[int]]:
    """Brokers of a network; yields the ports where clients come in."""
    overlay = small_overlay(design, count)
    brokers = [
        LiveBroker(
            LiveSettings(
                name=name,
                folder=folder / name,
                listeners=(ListenerSettings(address=ANY_PORT, anonymous=True),),
                peers=PeerLinkSettings(listen=ANY_PORT),
            ),
            overlay,
            recorded=lambda _time_us, _record: None,
            refused=lambda _reason: None,
        )
        for name in overlay.brokers
    ]
    ports = [(await broker.start())[0].port for broker in brokers]
    known = {name: at for one in brokers for name, at in one.host.peers.brokers.items()}
    for broker in brokers:
        broker.host.peers.brokers |= known
    try:
        yield ports
    finally:
        for broker in brokers:
            await broker.stop()


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
