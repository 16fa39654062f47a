"""Idle connections: how many one broker holds, and what each costs in memory.

Clients are sockets of other processes, from several addresses of this machine. A broker may have as
many as its files are allowed to be; MQTT 5, QoS 0 sessions that end with their connections.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import socket
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import Row
from meshwright.client import Client
from meshwright.live.processes.local_network import LocalNetwork, free_ports
from meshwright.live.system.addresses import Address
from meshwright.planning.founding import founding_overlay
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import MQTT_5, Connect

WANTED = 20_000
# The broker's own: disk, peers, listeners, the event loop.
FILES_KEPT = 60
HOLDERS = 2
AT_ONCE = 250
SOURCES = 8
CONNACK = 0x20
KEEP_ALIVE_S = 3_600
IDLE_S = 10.0
BYTES_TARGET = 10_240


class Held(NamedTuple):
    """What a broker was like with its connections."""

    count: int
    bytes_before: int
    bytes_after: int
    connect_cpu_s: float
    idle_cpu_s: float
    answer_ms: float


def rows() -> list[Row]:
    """One of two brokers, and as many idle clients as this machine allows."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    held = hold_connections(min(WANTED, allowed - FILES_KEPT))
    each_bytes = (held.bytes_after - held.bytes_before) / held.count
    limit = f"a process may have {allowed:,} files here"
    return [
        Row(
            f"{held.count:,} idle connections to one broker",
            f"{each_bytes / 1024:.1f} KiB each",
            f"{BYTES_TARGET / 1024:.0f} KiB each",
            met=each_bytes <= BYTES_TARGET,
            note=f"{held.bytes_after / 2**20:.0f} MiB in all, {held.bytes_before / 2**20:.0f} MiB "
            f"without; {limit}",
        ),
        Row(
            "their connecting",
            f"{held.connect_cpu_s / held.count * 1e6:.0f} us of CPU each",
            "-",
            note=f"{held.count / held.connect_cpu_s:,.0f} a second of one core",
        ),
        Row(
            f"{IDLE_S:.0f} s of their silence",
            f"{held.idle_cpu_s / IDLE_S:.1%} of a core",
            "-",
            note=f"then a message of QoS 1 came through after {held.answer_ms:.1f} ms",
        ),
    ]


def hold_connections(count: int) -> Held:
    """Start a broker, connect clients, look at it, and let everything go."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_ports(4)
        overlay = founding_overlay("chord", ("one", "other"))
        network = LocalNetwork(overlay, Path(folder), port=port, peer_port=port + 2)
        network.start()
        holders: list[tuple[multiprocessing.process.BaseProcess, Connection]] = []
        try:
            broker = network.brokers[0]
            process = broker.process.pid
            bytes_before, cpu_before_s = _resident_bytes(process), _cpu_s(process)
            holders = [_start_holder(broker.clients, number, count) for number in range(HOLDERS)]
            connected = sum(line.recv() for _, line in holders)
            bytes_after, cpu_after_s = _resident_bytes(process), _cpu_s(process)
            time.sleep(IDLE_S)
            idle_cpu_s = _cpu_s(process) - cpu_after_s
            answer_ms = asyncio.run(_answer_ms(broker.clients))
        finally:
            for holder, line in holders:
                line.close()
                holder.join()
            network.stop()
    connect_cpu_s = cpu_after_s - cpu_before_s
    return Held(connected, bytes_before, bytes_after, connect_cpu_s, idle_cpu_s, answer_ms)


def _start_holder(
    address: Address, number: int, count: int
) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    own, other = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    share = len(range(number, count, HOLDERS))
    holder = context.Process(target=_hold, args=(address, number, share, other))
    holder.start()
    other.close()
    return holder, own


def _hold(address: Address, number: int, count: int, line: Connection) -> None:
    """Connect clients some at a time, say how many, and wait until nobody needs them."""
    lines: list[socket.socket] = []
    while len(lines) < count:
        begun = [
            _connect(address, f"idle-{number}-{place}", place)
            for place in range(len(lines), min(len(lines) + AT_ONCE, count))
        ]
        for one in begun:
            assert one.recv(64)[0] == CONNACK
        lines += begun
    line.send(len(lines))
    with suppress(EOFError):
        line.recv()
    for one in lines:
        one.close()


def _connect(address: Address, name: str, place: int) -> socket.socket:
    line = socket.create_connection(address, source_address=(f"127.0.0.{2 + place % SOURCES}", 0))
    asked = Connect(client_id=name, clean_start=True, keep_alive_s=KEEP_ALIVE_S)
    line.sendall(encode(asked, MQTT_5))
    return line


async def _answer_ms(address: Address) -> float:
    """How long a message takes from one more client to itself."""
    async with Client(str(address), "awake") as client:
        await client.subscribe("awake", 1)
        begun_s = time.perf_counter()
        await client.publish("awake", b"", 1)
        async for _ in client.messages:
            break
        return (time.perf_counter() - begun_s) * 1_000


def _resident_bytes(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
