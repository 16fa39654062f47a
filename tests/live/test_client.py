"""The client that goes where the network sends it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from live_network import live_brokers, port_of, running_brokers
from paho.mqtt.client import MQTTMessage

from meshwright.client import Client
from meshwright.errors import OperatorError, PeerError
from meshwright.live.settings import PlacementSettings


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


class Eager:
    """Publishes as soon as its client is somewhere, before who waits for that is woken."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.published: list[asyncio.Task[None]] = []

    def connected(self, broker: str, *, session_present: bool) -> None:
        del broker, session_present
        if self.client is not None:
            doing = self.client.publish("news/today", b"second")
            self.published.append(asyncio.get_running_loop().create_task(doing))

    def disconnected(self) -> None:
        """Nothing to do."""

    def received(self, message: MQTTMessage) -> None:
        """Nothing to do."""


def test_what_waits_for_a_connection_is_published_before_what_comes_later(tmp_path: Path) -> None:
    eager = Eager()

    async def story() -> None:
        async with live_brokers("chord", tmp_path) as ports, asyncio.timeout(30):
            addresses = [f"127.0.0.1:{port}" for port in ports]
            async with (
                Client(addresses[2], "reader") as reader,
                Client(addresses[0], "writer", watcher=eager) as writer,
            ):
                await reader.subscribe("news/#")
                moving = asyncio.create_task(writer.move_to(addresses[1]))
                await asyncio.sleep(0)
                eager.client = writer
                await writer.publish("news/today", b"first")
                await asyncio.gather(moving, *eager.published)
                got = [(await anext(reader.messages)).payload for _ in range(2)]
                assert got == [b"first", b"second"]

    asyncio.run(story())


def test_a_client_goes_to_the_next_broker_if_the_first_is_not_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with live_brokers("chord", tmp_path, 1) as ports:
            alive = f"127.0.0.1:{ports[0]}"
            async with asyncio.timeout(20), Client(["127.0.0.1:1", alive], "c") as client:
                assert client.broker == alive
                with pytest.raises(PeerError, match="refused"):
                    await client.subscribe("$where/b=1&&c=2/a")

    asyncio.run(story())


def test_a_client_is_sent_to_the_broker_whose_clients_want_the_same(tmp_path: Path) -> None:
    placement = PlacementSettings(rule="similarity", every_s=0.2, load_slack=1.0)

    async def story() -> None:
        async with AsyncExitStack() as opened:
            brokers = await opened.enter_async_context(
                running_brokers("chord", tmp_path, 2, placement=placement)
            )
            here, there = (f"127.0.0.1:{port_of(broker)}" for broker in brokers)
            alone, *others = [
                await opened.enter_async_context(Client(address, name))
                for address, name in ((here, "alone"), (there, "one"), (there, "other"))
            ]
            for client in (*others, alone):  # so that nobody gains by leaving for here
                await client.subscribe("news")
            async with asyncio.timeout(20):
                while alone.broker != there:
                    await asyncio.sleep(0.05)
                await others[0].publish("news", b"1")
                message = await anext(alone.messages)
            assert message.payload == b"1"
            assert [client.broker for client in others] == [there, there]

    asyncio.run(story())


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(OperatorError, match="host:port"):
        Client("nowhere", "c")
