"""Brokers of new names that join a running network through a member."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from live_network import newcomer, port_of, running_brokers
from ordinary_clients import AioReader, until
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.live.processes.live_broker import LiveBroker


async def publish(broker: LiveBroker, topic: str, *payloads: str) -> None:
    async with aiomqtt.Client("127.0.0.1", port_of(broker), identifier=f"writer {topic}") as writer:
        for payload in payloads:
            await writer.publish(topic, payload, qos=1)


async def answered(*words: str | Path) -> dict[str, Any]:
    asked = [*map(str, words), "--json"]
    result = await asyncio.to_thread(CliRunner().invoke, app, asked, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def is_whole(brokers: list[LiveBroker]) -> bool:
    """Whether all see one overlay with all of them in it."""
    seen = [broker.host.observe() for broker in brokers]
    names = sorted(broker.settings.name for broker in brokers)
    return all(sorted(one.overlay.brokers) == names and not one.is_changing for one in seen)


@pytest.mark.parametrize("design", ["chord", "gm"])
def test_a_broker_of_a_new_name_joins_returns_and_is_drained(design: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers(design, tmp_path, 3) as brokers:
            before = AioReader("before")
            await before.open(port_of(brokers[0]), "news/#", keeps=True)
            north = await newcomer("north", tmp_path, brokers[1])
            async with asyncio.timeout(30):
                await north.start()
            await until(lambda: is_whole([*brokers, north]))
            reader = AioReader("reader")
            await reader.open(port_of(north), "news/#", keeps=True)
            await publish(north, "news/north", "1", "2")
            await publish(brokers[2], "news/south", "3", "4")
            await until(lambda: len(before.got) == len(reader.got) == 4)
            status = await answered("status", "--data", tmp_path)
            assert [row["broker"] for row in status["brokers"]] == ["b0", "b1", "b2", "north"]
            await reader.die()
            await north.stop()
            await publish(brokers[2], "news/south", "5", "6")
            north = await newcomer("north", tmp_path, brokers[2])
            await north.start()
            await reader.open(port_of(north), "news/#", keeps=True)
            await until(lambda: len(before.got) == len(reader.got) == 6)
            south = [one.payload for one in reader.got if one.topic == "news/south"]
            assert south == ["3", "4", "5", "6"]
            await reader.close()
            draining = asyncio.create_task(answered("drain", "north", "--data", tmp_path))
            await north.wait()
            await north.stop()
            await draining
            await publish(brokers[2], "news/south", "7")
            await reader.open(port_of(brokers[1]), "news/#", keeps=True)
            await until(lambda: len(before.got) == len(reader.got) == 7)
            await reader.close()
            await before.close()

    asyncio.run(story())


def test_a_lone_broker_grows_to_a_network_and_who_joins_waits_for_who_is_away(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1) as brokers:
            east = await newcomer("east", tmp_path, brokers[0])
            await east.start()
            await until(lambda: is_whole([*brokers, east]))
            await east.stop()
            west = await newcomer("west", tmp_path, brokers[0])
            joining = asyncio.create_task(west.start())
            # East comes back at another port, so one of the two must hear where the other is.
            await until(lambda: "west" in brokers[0].host.peers.connected())
            east = await newcomer("east", tmp_path, brokers[0])
            assert not joining.done()
            await east.start()
            async with asyncio.timeout(30):
                await joining
            await until(lambda: is_whole([*brokers, east, west]))
            reader = AioReader("reader")
            await reader.open(port_of(west), "t")
            await publish(east, "t", "1")
            await until(lambda: len(reader.got) == 1)
            await reader.close()
            await west.stop()
            await east.stop()

    asyncio.run(story())
