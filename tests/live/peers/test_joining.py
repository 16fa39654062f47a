"""A broker that knows one address finds its network."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from live_network import ANY_PORT, LOOPBACK, SETTINGS, DirectClient, new_host, small_overlay

from meshwright.errors import OperatorError
from meshwright.live.peers.joining import Network, find_network
from meshwright.live.peers.peers import PeerSettings
from meshwright.protocol.mqtt.packets import (
    Connack,
    Connect,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)


async def asked(name: str, folder: Path, address: str, settings: PeerSettings) -> Network:
    return await asyncio.to_thread(find_network, name, folder, (address,), settings)


def test_a_broker_joins_through_any_member_and_remembers_the_network(tmp_path: Path) -> None:
    async def story() -> None:
        overlay = small_overlay("chord", 3)
        first, second = (new_host(name, overlay, tmp_path) for name in ("b0", "b1"))
        at = [await host.start(LOOPBACK) for host in (first, second)]
        second.peers.brokers["b0"] = at[0]
        network = await asked("b2", tmp_path / "b2", at[1].peers, SETTINGS)
        assert network.overlay == overlay
        assert network.brokers["b0"] == at[0]
        third = new_host("b2", network.overlay, tmp_path)
        third.peers.brokers |= network.brokers
        await third.start(LOOPBACK)
        reader, writer = DirectClient(third, "reader"), DirectClient(first, "writer")
        reader.connect(Connect(clean_start=True))
        writer.connect(Connect(clean_start=True))
        for client in (reader, writer):
            await client.until(lambda got: any(isinstance(one, Connack) for one in got))
        reader.say(Subscribe(1, (Subscription("t", qos=1),)))
        await reader.until(lambda got: any(isinstance(one, Suback) for one in got))
        writer.say(Publish("t", b"x", 1, packet_id=1))
        await reader.until(lambda got: any(isinstance(one, Publish) for one in got))
        for host in (first, second, third):
            await host.stop()
        assert await asked("b2", tmp_path / "b2", at[1].peers, SETTINGS) == network

    asyncio.run(story())


def test_strangers_learn_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        host = new_host("b0", small_overlay("chord", 2), tmp_path)
        found = await host.start(LOOPBACK)
        stranger = PeerSettings(network="test", secret=b"guessed")
        with pytest.raises(OperatorError, match="does not know the secret"):
            await asked("b1", tmp_path / "b1", found.peers, stranger)
        assert host.peers.connected() == ()
        await host.stop()

    asyncio.run(story())


def test_where_nobody_answers_an_operator_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="No broker answers at 127"):
        find_network("b0", tmp_path, (ANY_PORT.replace(":0", ":1"),), SETTINGS)
