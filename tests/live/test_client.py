"""The client that goes where the network sends it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from live_network import live_brokers

from meshwright.client import Client
from meshwright.errors import OperatorError, PeerError


def test_a_client_moves_between_brokers_and_misses_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with live_brokers("chord", tmp_path) as ports:
            addresses = [f"127.0.0.1:{port}" for port in ports]
            reader = Client(addresses[0], "reader")
            async with reader, Client(addresses[1], "writer") as writer:
                await reader.subscribe("news/#")
                wanted = []
                for number in range(30):
                    wanted.append(b"%d" % number)
                    await writer.publish("news/today", wanted[-1])
                    if number % 10 == 5:
                        await reader.move_to(addresses[(number // 10 + 1) % 3])
                got: list[bytes] = []
                async with asyncio.timeout(30):
                    async for message in reader.messages:
                        if message.payload not in got:
                            got.append(message.payload)
                        if len(got) == len(wanted):
                            break
                assert got == wanted

    asyncio.run(story())


def test_a_client_goes_to_the_next_broker_if_the_first_is_not_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with live_brokers("chord", tmp_path, 1) as ports:
            alive = f"127.0.0.1:{ports[0]}"
            async with asyncio.timeout(20), Client(["127.0.0.1:1", alive], "c") as client:
                assert client.broker == alive
                with pytest.raises(PeerError, match="refused"):
                    await client.subscribe("a?b=1&&c=2")

    asyncio.run(story())


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(OperatorError, match="host:port"):
        Client("nowhere", "c")
