"""Lines of clients into one broker: bytes are fed directly, and what is written is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from meshwright.live.access.doorman import Doorman
from meshwright.live.clients.client_line import ClientLine
from meshwright.live.clients.crowd import Crowd
from meshwright.live.clients.listener import Listener
from meshwright.live.host.host import Host
from meshwright.live.peers.peers import PeerSettings
from meshwright.live.settings import AccessSettings, LimitSettings, ListenerSettings
from meshwright.live.system.addresses import Address
from meshwright.live.telemetry.system_topics import SystemTopics
from meshwright.planning.founding import founding_overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import Connect, Packet, Puback, Publish
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.settings import BrokerSettings

TURNS = 30
ALONE_COUNT = 2


class KeptTransport(asyncio.Transport):
    """Keeps what is written; is_reading says whether the line wants more."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_paused = False
        self.is_closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        del high, low

    def write(self, data: Any) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_reading(self) -> bool:
        return not self.is_paused

    def is_closing(self) -> bool:
        return self.is_closed

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        del protocol

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True


class DullLine(ClientLine):
    """A line of which every message goes the whole way."""

    def _open_lane(self) -> None:
        pass


class LineClient:
    """One client's line, and what its client reads."""

    def __init__(self, listener: Listener, kind: type[ClientLine], version: int) -> None:
        self.version = version
        self.transport = KeptTransport()
        self._answered_count = 0
        self.line = kind(listener)
        self.line.connection_made(self.transport)

    def say(self, *said: Packet) -> None:
        self.feed(b"".join(encode(packet, self.version) for packet in said))

    def feed(self, block: bytes) -> None:
        self.line.data_received(block)

    async def connect(self, name: str, **options: Any) -> None:
        connect = Connect(client_id=name, protocol_version=self.version, **options)
        self.say(connect)
        await settle()

    def answer_all(self) -> int:
        """Acknowledge all of QoS 1 that came and was not, the last ones alone; returns how many."""
        ids = [one.packet_id for one in self.read() if isinstance(one, Publish) and one.qos]
        ids, self._answered_count = ids[self._answered_count :], len(ids)
        if ids[:-ALONE_COUNT]:
            self.say(*[Puback(packet_id) for packet_id in ids[:-ALONE_COUNT]])
        for packet_id in ids[-ALONE_COUNT:]:
            self.say(Puback(packet_id))
        return len(ids)

    def read(self) -> list[Packet]:
        """All that came so far."""
        return Decoder(self.version, is_server=False).take(bytes(self.transport.written))


@asynccontextmanager
async def one_broker(
    folder: Path,
    *,
    limits: LimitSettings | None = None,
    rules: Path | None = None,
    writes_runs: bool = False,
) -> AsyncIterator[Listener]:
    """A broker that acknowledges in memory, behind a listener without a socket."""
    limits = limits or LimitSettings()
    settings = BrokerSettings(sessions=SessionSettings(writes_runs=writes_runs))
    host = Host(
        Broker("b0", settings, founding_overlay("chord", ("b0",))),
        "b0",
        folder,
        PeerSettings(network="test", secret=b""),
        recorded=lambda _now_us, _record: None,
        refused=lambda _reason, _address: None,
        failed=_fail,
        is_durable=False,
    )
    await host.start(Address("127.0.0.1", 0))
    try:
        yield Listener(
            ListenerSettings(anonymous=True),
            limits,
            host=host,
            doorman=Doorman(AccessSettings(rules=rules)),
            crowd=Crowd(limits),
            system_topics=SystemTopics("b0"),
        )
    finally:
        await host.stop()


async def settle() -> None:
    """Let everything be done that waits for nothing but its turn."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


def _fail(error: Exception) -> None:
    raise error
