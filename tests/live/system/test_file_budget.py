"""No door can use up the files that the others need."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from meshwright.live.processes.local_network import free_ports
from meshwright.live.system.file_budget import file_budget
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import MQTT_5, Connect

HOST = "127.0.0.1"
FILES = 256
START_S = 60.0
# How many a stranger opens at one door: more than there are files.
CROWD = 400


@asynccontextmanager
async def broker_with_few_files(folder: Path) -> AsyncIterator[dict[str, int]]:
    """A broker's process; yields the ports of its doors."""
    first = free_ports(3)
    ports = {"mqtt": first, "peers": first + 1, "http": first + 2}
    config = folder / "broker.toml"
    config.write_text(f'[telemetry]\nhttp = "{HOST}:{ports["http"]}"\n')
    command = [
        sys.executable, "-m", "meshwright", "broker", "--config", str(config),
        "--listen", f"{HOST}:{ports['mqtt']}", "--peer-listen", f"{HOST}:{ports['peers']}",
        "--data", str(folder / "b"),
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'ulimit -n {FILES}; exec "$0" "$@"', *command],
            stdout=log,
            stderr=log,
        )
    try:
        async with asyncio.timeout(START_S):
            while "clients at" not in (folder / "log").read_text():
                assert process.poll() is None, (folder / "log").read_text()
                await asyncio.sleep(0.1)
        yield ports
        assert process.poll() is None
    finally:
        process.terminate()
        assert process.wait(20) == 0, (folder / "log").read_text()


async def serves(port: int) -> bool:
    """Whether a client is let in."""
    try:
        answers, line = await asyncio.open_connection(HOST, port)
        line.write(encode(Connect(client_id="c", clean_start=True), MQTT_5))
        answer = await answers.read(4)
    except OSError:
        return False
    line.close()
    return answer[:1] == b"\x20" and answer[3] == 0


async def is_healthy(port: int) -> bool:
    answers, line = await asyncio.open_connection(HOST, port)
    line.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    try:
        return b'"is_healthy":true' in await answers.read()
    except OSError:
        return False
    finally:
        line.close()


async def greets(port: int) -> bool:
    """Whether a broker that dials is told who is there."""
    answers, line = await asyncio.open_connection(HOST, port)
    try:
        return len(await answers.read(4)) == 4
    except OSError:
        return False
    finally:
        line.close()


async def crowd_at(port: int, held: AsyncExitStack) -> None:
    """Many who come in and say nothing."""
    for _ in range(CROWD):
        _, line = await asyncio.open_connection(HOST, port)
        held.callback(line.close)
    await asyncio.sleep(0.2)


def test_a_crowd_at_one_door_leaves_the_others_open(tmp_path: Path) -> None:
    async def story() -> None:
        async with broker_with_few_files(tmp_path) as ports, asyncio.timeout(100):
            for door in ports:
                async with AsyncExitStack() as held:
                    await crowd_at(ports[door], held)
                    assert door == "mqtt" or await serves(ports["mqtt"]), door
                    assert await is_healthy(ports["http"]), door
                    assert door == "peers" or await greets(ports["peers"]), door
                # Who leaves makes room again, without a restart.
                while not (await serves(ports["mqtt"]) and await greets(ports["peers"])):
                    await asyncio.sleep(0.1)

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(limit[0], min(limit[1], 4 * CROWD))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limit[1]))
    asyncio.run(story())
    for line in (tmp_path / "log").read_text().splitlines():
        assert not line.startswith("{") or "event" in json.loads(line)


def test_half_of_few_files_are_for_clients() -> None:
    budget = file_budget()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert budget.clients + 2 * budget.http + budget.strangers < files
