"""An operator ends sessions by command: whoever was refused or waited because of them goes on."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lines_without_sockets import LineClient
from live_network import running_brokers
from typer.testing import CliRunner, Result

from meshwright.cli.main import app
from meshwright.live.clients.client_line import ClientLine
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import LimitSettings
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    MQTT_5,
    Connack,
    Disconnect,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)

ROOM = 20


async def call(*words: str | Path) -> Result:
    asked = [str(word) for word in words]
    return await asyncio.to_thread(CliRunner().invoke, app, asked, catch_exceptions=False)


async def answered(*words: str | Path) -> dict[str, Any]:
    result = await call(*words, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


async def sleeping(broker: LiveBroker, version: int = MQTT_5) -> LineClient:
    """A client that takes what it wants, and answers nothing."""
    sleeper = LineClient(broker.listeners[0], ClientLine, version)
    await sleeper.connect("sleeper", session_expiry_s=600)
    sleeper.say(Subscribe(1, (Subscription("t", 1),)))
    await until(lambda: any(isinstance(one, Suback) for one in sleeper.read()))
    return sleeper


def pubacks(client: LineClient) -> list[Puback]:
    return [one for one in client.read() if isinstance(one, Puback)]


def test_a_publisher_goes_on_once_the_session_that_is_full_was_ended(tmp_path: Path) -> None:
    async def story() -> None:
        limits = LimitSettings(queue_max=ROOM)
        async with running_brokers("chord", tmp_path, 2, limits=limits) as brokers:
            sleeper = await sleeping(brokers[1])
            sleeper.line.connection_lost(None)
            writer = LineClient(brokers[0].listeners[0], ClientLine, MQTT_5)
            await writer.connect("writer", clean_start=True)
            said = 0
            while not said or pubacks(writer)[-1].reason != packets.QUOTA_EXCEEDED:
                said += 1
                assert said < 5 * ROOM
                writer.say(Publish("t", b"", 1, False, said))
                await until(lambda said=said: len(pubacks(writer)) == said)
            kept = said - 1
            clients = await answered("clients", "--data", tmp_path)
            assert {row["client"]: row["is_full"] for row in clients["clients"]} == {
                "sleeper": True, "writer": False,
            }  # fmt: skip
            status = await call("status", "--data", tmp_path)
            assert f"1 full queue: sleeper at b1 ({kept} messages); " in status.stdout
            assert status.exit_code == 1
            seen = json.loads((await call("status", "--json", "--data", tmp_path)).stdout)
            assert "1 full queue" in seen["brokers"][1]["state"]
            told = await call("forget", "sleeper", "--data", tmp_path)
            assert told.exit_code == 0, told.output
            gone = f"its session and {kept} messages that waited are gone"
            assert told.stdout == f"sleeper at b1: {gone}.\n"
            assert (await answered("status", "--data", tmp_path))["full_queues"] == []

            def is_taken() -> bool:
                nonlocal said
                if len(pubacks(writer)) == said:
                    if not pubacks(writer)[-1].reason:
                        return True
                    said += 1
                    writer.say(Publish("t", b"", 1, False, said))
                return False

            await until(is_taken)

    asyncio.run(story())


@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
def test_a_client_that_is_there_is_disconnected_and_begins_anew(
    tmp_path: Path, version: int
) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1) as brokers:
            sleeper = await sleeping(brokers[0], version)
            document = await answered("forget", "sleeper", "--data", tmp_path)
            assert document == {
                "command": "forget", "client": "sleeper", "broker": "b0", "messages": 0,
                "was_connected": True,
            }  # fmt: skip
            await until(lambda: "sleeper" not in brokers[0].host.clients)
            goodbyes = [one.reason for one in sleeper.read() if isinstance(one, Disconnect)]
            assert goodbyes == ([packets.ADMINISTRATIVE_ACTION] if version == MQTT_5 else [])
            again = LineClient(brokers[0].listeners[0], ClientLine, version)
            await again.connect("sleeper", session_expiry_s=600)
            await until(lambda: bool(again.read()))
            (welcome,) = again.read()
            assert isinstance(welcome, Connack)
            assert not welcome.session_present

    asyncio.run(story())


def test_a_client_that_is_not_there_is_answered_with_the_nearest_names(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1) as brokers:
            refused = await call("forget", "sleepr", "--data", tmp_path)
            assert refused.exit_code == 2
            assert "'sleepr'; they keep none." in refused.stderr
            await sleeping(brokers[0])
            refused = await call("forget", "sleepr", "--data", tmp_path)
            assert refused.exit_code == 2
            assert refused.stderr.count("\n") == 1
            assert "'sleepr'; the nearest names: sleeper." in refused.stderr

    asyncio.run(story())


def typed_at_terminal(
    folder: Path, typed: bytes, *options: str
) -> subprocess.CompletedProcess[str]:
    """Give the order at a terminal, where somebody types something."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        code = "from meshwright.cli.main import run; run()"
        words = [sys.executable, "-c", code, "forget", "sleeper", "--data", str(folder), *options]
        return subprocess.run(
            words, stdin=theirs, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)


def test_at_a_terminal_it_is_asked_first_whether_to_do_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 1) as brokers:
            await sleeping(brokers[0])
            kept = await asyncio.to_thread(typed_at_terminal, tmp_path, b"n\n")
            assert kept.returncode == 1
            assert "End the session of sleeper at b0, and lose no message?" in kept.stderr
            assert "Nothing was done." in kept.stderr
            assert brokers[0].host.view().sessions
            ended = await asyncio.to_thread(typed_at_terminal, tmp_path, b"y\n")
            assert ended.returncode == 0, ended.stderr
            told = "sleeper at b0: it was disconnected; its session is gone.\n"
            assert ended.stdout == told
            assert not brokers[0].host.view().sessions
            await sleeping(brokers[0])
            sure = await asyncio.to_thread(typed_at_terminal, tmp_path, b"", "--yes")
            assert (sure.returncode, sure.stdout) == (0, told)

    asyncio.run(story())
