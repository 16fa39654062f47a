"""Ordinary MQTT clients at real brokers of every design."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiomqtt
import pytest
from live_network import live_brokers
from ordinary_clients import (
    AioReader,
    Got,
    MosquittoReader,
    PahoReader,
    Reader,
    aio_publish,
    mosquitto_publish,
    paho_publish,
    until,
)

from meshwright.model.designs import DESIGNS

Publish = Callable[..., Awaitable[None]]
NUMBERS = tuple(map(str, range(10)))

# A variant is joined as its base.
JOINED = [name for name, row in DESIGNS.items() if row.base is None]


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


@pytest.mark.parametrize("design", JOINED)
def test_paho_and_aiomqtt_use_the_whole_network_of(design: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with live_brokers(design, tmp_path) as ports:
            await use_network(ports, PahoReader, aio_publish)
            await use_network(ports, AioReader, paho_publish)

    asyncio.run(story())


@pytest.mark.parametrize("design", JOINED)
def test_the_clients_of_mosquitto_use_the_whole_network_of(design: str, tmp_path: Path) -> None:
    if shutil.which("mosquitto_sub") is None:
        pytest.skip("mosquitto_sub and mosquitto_pub are not installed (mosquitto-clients)")

    async def story() -> None:
        async with live_brokers(design, tmp_path) as ports:
            await use_network(ports, MosquittoReader, mosquitto_publish)

    asyncio.run(story())


async def use_network(ports: list[int], reader: Callable[[str], Reader], publish: Publish) -> None:
    """Everything that is the network's and not one broker's; names are new for each library."""
    name = reader.__name__
    await read_anywhere(ports, name, reader, publish)
    await share(ports, name, reader, publish)
    await leave_a_will(ports, name, reader)
    await come_back_elsewhere(ports, name, reader, publish)


async def read_anywhere(
    ports: list[int], name: str, reader: Callable[[str], Reader], publish: Publish
) -> None:
    one, other = reader(f"{name}1"), reader(f"{name}2")
    await one.open(ports[0], f"{name}/news/+")
    await publish(ports[1], f"{name}/news/a", *NUMBERS, retain=True)
    await until(lambda: len(one.got) == len(NUMBERS))
    assert one.got == [Got(f"{name}/news/a", number) for number in NUMBERS]
    await other.open(ports[2], f"{name}/news/#")
    # A newcomer may also get what was published just before it came.
    await until(lambda: Got(f"{name}/news/a", NUMBERS[-1], is_retained=True) in other.got)
    await one.close()
    await other.close()


async def share(
    ports: list[int], name: str, reader: Callable[[str], Reader], publish: Publish
) -> None:
    members = [reader(f"{name}{number}") for number in range(2)]
    for member, port in zip(members, (ports[0], ports[2]), strict=True):
        await member.open(port, f"$share/group/{name}/jobs")
    await publish(ports[1], f"{name}/jobs", *NUMBERS)
    await until(lambda: sum(len(member.got) for member in members) >= len(NUMBERS))
    done = [got.payload for member in members for got in member.got]
    assert sorted(done) == sorted(NUMBERS)
    for member in members:
        await member.close()


async def leave_a_will(ports: list[int], name: str, reader: Callable[[str], Reader]) -> None:
    mortal, heir = reader(f"{name}mortal"), reader(f"{name}heir")
    await heir.open(ports[2], f"{name}/wills")
    await mortal.open(ports[0], f"{name}/nothing", will=(f"{name}/wills", "gone"))
    await mortal.die()
    await until(lambda: bool(heir.got))
    assert heir.got == [Got(f"{name}/wills", "gone")]
    await heir.close()


async def come_back_elsewhere(
    ports: list[int], name: str, reader: Callable[[str], Reader], publish: Publish
) -> None:
    first, second = reader(f"{name}roamer"), reader(f"{name}roamer")
    await first.open(ports[0], f"{name}/queue", keeps=True)
    await publish(ports[1], f"{name}/queue", *NUMBERS[:5])
    await until(lambda: len(first.got) == 5)
    await first.close()
    await publish(ports[1], f"{name}/queue", *NUMBERS[5:])
    await second.open(ports[2], f"{name}/queue", keeps=True)
    await until(lambda: len(second.got) == 5)
    assert [got.payload for got in first.got + second.got] == list(NUMBERS)
    await second.close()
