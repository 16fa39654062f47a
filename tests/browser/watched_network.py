"""A managed network of processes with clients that talk, and a plan that waits for a decision."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from background_brokers import swapped
from changing_networks import plan_of
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from running_up import up

from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.processes.local_network import free_ports
from meshwright.manager.circle.desk import PLANS_FOLDER, made, now_us
from meshwright.manager.orders.saved_plans import Cost, PlanStore
from meshwright.planning.founding import founding_overlay

SETTINGS = """
measure_s = 2.0
[rest]
listen = "127.0.0.1:{port}"
[windows]
collect_every_s = 1.0
"""
# Who stands still is not lost at once, so that there is time to abort what waits for it.
BROKERS = """
[peers]
heartbeat_s = 5.0
"""
TOPICS = 6
EVERY_S = 0.05


class Network(NamedTuple):
    """address: where a browser is let in. data: the folder of the network."""

    address: str
    data: Path

    @property
    def token(self) -> str:
        return (self.data / "manager" / "token").read_text().strip()

    def kill(self, broker: str) -> None:
        """End its process without a word; nothing if it does not run."""
        self._send(broker, signal.SIGKILL)

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """The process of a broker, or the manager, stands still until the block is left."""
        self._send(name, signal.SIGSTOP)
        try:
            yield
        finally:
            self._send(name, signal.SIGCONT)

    def _send(self, name: str, what: signal.Signals) -> None:
        is_manager = name == "manager"
        kind, folder = (b"manager", self.data) if is_manager else (b"broker", self.data / name)
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if kind in words and str(folder).encode() in words:
                os.kill(int(process.name), what)


@contextmanager
def watched_network(data: Path, count: int = 4, clients: int = 12) -> Iterator[Network]:
    """Until the block is left; clients: as many MQTT clients, that want and publish."""
    names = tuple(f"broker{number}" for number in range(1, count + 1))
    data.mkdir(parents=True)
    port = free_ports(2 * count + 1)
    ports = ("--port", port + 1, "--peer-port", port + 1 + count)
    (data / "manager.toml").write_text(SETTINGS.format(port=port))
    (data / "broker.toml").write_text(BROKERS)
    overlay = founding_overlay("chord", names)
    store = PlanStore(data / "manager" / PLANS_FOLDER)
    plan = plan_of(overlay, swapped(overlay), ("reader-0", names[0], names[1]))
    saved = made(store.add(now_us(), "running"), plan, Cost(before=1.0, after=0.8))
    store.write(saved)
    with ExitStack() as opened:
        words = (
            "-n",
            count,
            "--design",
            "chord",
            "--manage",
            *ports,
            "--config",
            data / "broker.toml",
        )
        _, printed = opened.enter_context(up(data, *words, *ports, has_ports=True))
        address = printed.until("Look at the network: ").rpartition(" ")[2]
        ports = [_port(data / name) for name in names]
        opened.enter_context(talking(ports, clients))
        yield Network(address, data)


@contextmanager
def talking(ports: list[int], count: int) -> Iterator[None]:
    """Clients whose sessions outlive their connections; each wants two topics of a few."""
    clients = [_connected(number, ports[number % len(ports)]) for number in range(count)]
    is_over = threading.Event()

    def talk() -> None:
        number = 0
        while not is_over.wait(EVERY_S):
            number += 1
            clients[number % count].publish(f"news/{number % TOPICS}", b"hello", qos=1)

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        for client in clients:
            client.loop_stop()


def _connected(number: int, port: int) -> Client:
    client = Client(
        CallbackAPIVersion.VERSION2, f"reader-{number}", protocol=MQTTProtocolVersion.MQTTv5
    )
    keeps = Properties(PacketTypes.CONNECT)
    keeps.SessionExpiryInterval = 600
    client.connect("127.0.0.1", port, properties=keeps)
    client.loop_start()
    for topic in {number % TOPICS, (2 * number + 1) % TOPICS}:
        client.subscribe(f"news/{topic}", 1)
    return client


def _port(folder: Path) -> int:
    """Where a broker takes clients, as it says itself."""
    control = BrokerControl(folder)
    members = control.get("/cluster", msgspec.Raw)
    found = msgspec.json.decode(members)
    (address,) = [one["clients"] for one in found["brokers"] if one["broker"] == folder.name]
    return int(address.rpartition(":")[2])
