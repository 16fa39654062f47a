"""Brokers on real sockets of this machine, and clients that hand them packets directly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.live.host.host import Host
from meshwright.live.peers.joining import find_network
from meshwright.live.peers.peers import PeerSettings
from meshwright.live.processes.live_broker import LiveBroker, peer_settings
from meshwright.live.settings import ListenerSettings, LiveSettings, PeerLinkSettings
from meshwright.live.system.addresses import Address, Whereabouts, parse_address
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.neighbourhood import Redraw
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.foundation.events import ClientPacket, ClientUp
from meshwright.protocol.mqtt.packets import (
    Connack,
    Connect,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)
from meshwright.protocol.settings import BrokerSettings

ANY_PORT = "127.0.0.1:0"
LOOPBACK = Address("127.0.0.1", 0)
SETTINGS = PeerSettings(network="test", secret=b"a secret")


class DirectClient:
    """A client without a socket."""

    takes_as_is = False

    def __init__(self, host: Host, name: str) -> None:
        self.got: list[Any] = []
        self._host = host
        self.client = name
        self._news = asyncio.Event()

    def connect(self, packet: Connect) -> None:
        self._host.client_up(self, ClientUp(self.client, packet))

    def say(self, packet: Any) -> None:
        self._host.tell(ClientPacket(self.client, packet))

    def send(self, packet: Any) -> None:
        self.got.append(packet)
        self._news.set()

    def close(self) -> None:
        self._host.clients.pop(self.client, None)

    def payloads(self) -> list[bytes]:
        """What was delivered, in order."""
        return [one.payload for one in self.got if isinstance(one, Publish)]

    async def until(self, holds: Callable[[list[Any]], bool]) -> None:
        """Wait until what was got fulfils a condition."""
        async with asyncio.timeout(20):
            while not holds(self.got):
                self._news.clear()
                await self._news.wait()


async def reader_and_writer(reads: Host, writes: Host) -> tuple[DirectClient, DirectClient]:
    """Two clients, of which the first wants topic t with QoS 1."""
    reader, writer = DirectClient(reads, "reader"), DirectClient(writes, "writer")
    for client in (reader, writer):
        client.connect(Connect(clean_start=True))
        await client.until(lambda got: any(isinstance(one, Connack) for one in got))
    reader.say(Subscribe(1, (Subscription("t", qos=1),)))
    await reader.until(lambda got: any(isinstance(one, Suback) for one in got))
    return reader, writer


@asynccontextmanager
async def network(overlay: Overlay, folder: Path) -> AsyncIterator[dict[str, Host]]:
    """All brokers of an overlay, running."""
    hosts = {name: new_host(name, overlay, folder) for name in overlay.brokers}
    brokers = {name: await host.start(LOOPBACK) for name, host in hosts.items()}
    introduce(hosts.values(), brokers)
    try:
        yield hosts
    finally:
        for host in hosts.values():
            await host.stop()


@asynccontextmanager
async def live_brokers(design: str, folder: Path, count: int = 3) -> AsyncIterator[list[int]]:
    """Brokers of a network; yields the ports where clients come in."""
    async with running_brokers(design, folder, count) as brokers:
        yield [port_of(broker) for broker in brokers]


@asynccontextmanager
async def running_brokers(
    design: str,
    folder: Path,
    count: int = 3,
    redraw: Redraw | None = None,
    recorded: Callable[[int, Any], None] = lambda _time_us, _record: None,
    **options: Any,
) -> AsyncIterator[list[LiveBroker]]:
    """Brokers of a network, with any other settings."""
    overlay = small_overlay(design, count)
    brokers = [
        LiveBroker(
            LiveSettings(
                name=name,
                folder=folder / name,
                listeners=(ListenerSettings(address=ANY_PORT, anonymous=True),),
                **{"peers": PeerLinkSettings(listen=ANY_PORT), **options},
            ),
            overlay,
            recorded=recorded,
            refused=lambda _reason, _address: None,
            redraw=redraw,
        )
        for name in overlay.brokers
    ]
    for broker in brokers:
        await broker.start()
    known = {name: at for one in brokers for name, at in one.host.peers.brokers.items()}
    introduce((broker.host for broker in brokers), known)
    try:
        yield brokers
    finally:
        for broker in brokers:
            await broker.stop()


async def newcomer(name: str, folder: Path, through: LiveBroker, **options: Any) -> LiveBroker:
    """A broker that knows one member's address, not started."""
    address = through.host.peers.brokers[through.settings.name].peers
    links = PeerLinkSettings(listen=ANY_PORT)
    members = peer_settings(links)
    found = await asyncio.to_thread(find_network, name, folder / name, (address,), members)
    broker = LiveBroker(
        LiveSettings(
            name=name,
            folder=folder / name,
            listeners=(ListenerSettings(address=ANY_PORT, anonymous=True),),
            peers=links,
            **options,
        ),
        found.overlay,
        founders=found.founders,
        recorded=lambda _time_us, _record: None,
        refused=lambda _reason, _address: None,
    )
    broker.host.peers.brokers |= found.brokers
    return broker


def introduce(hosts: Iterable[Host], known: dict[str, Whereabouts]) -> None:
    """Tell brokers where the others are, of whom none was known before; they dial at once."""
    for host in hosts:
        host.peers.brokers |= known
        for name in known:
            if name > host.name:
                host.peers.open(name)


def hearing(reasons: list[str]) -> Callable[[str, str], None]:
    """What is told of brokers that are refused: it keeps the reasons."""
    return lambda reason, _address: reasons.append(reason)


def port_of(broker: LiveBroker) -> int:
    """Where a broker's clients come in."""
    return parse_address(broker.host.peers.brokers[broker.settings.name].clients).port


def new_host(name: str, overlay: Overlay, folder: Path, settings: PeerSettings = SETTINGS) -> Host:
    def failed(error: Exception) -> None:
        raise error

    return Host(
        Broker(name, BrokerSettings(), overlay),
        name,
        folder / name,
        settings,
        recorded=lambda _time_us, _record: None,
        refused=lambda _reason, _address: None,
        failed=failed,
    )


def small_overlay(design: str, broker_count: int = 4) -> Overlay:
    brokers = tuple(BrokerName(f"b{number}") for number in range(broker_count))
    everybody = np.arange(broker_count, dtype=np.int64)
    interests = interests_from_pairs(everybody, np.zeros_like(everybody), broker_count, 1)
    snapshot = Snapshot(brokers, (TopicName("t"),), interests, np.ones(1))
    return build_overlay(design, snapshot, rng=np.random.default_rng(0))
