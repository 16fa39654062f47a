"""A door for clients: takes connections, and knows those that stand."""

from __future__ import annotations

import asyncio
import secrets

from meshwright.errors import OperatorError
from meshwright.live.access.doorman import Doorman
from meshwright.live.access.tls import listening_context
from meshwright.live.clients.client_line import ClientLine
from meshwright.live.clients.crowd import Crowd
from meshwright.live.clients.deadlines import Deadlines
from meshwright.live.clients.lingering import LINGER_S
from meshwright.live.clients.websocket import WebSocket
from meshwright.live.host.host import Host
from meshwright.live.settings import LimitSettings, ListenerSettings
from meshwright.live.system.addresses import Address, parse_address
from meshwright.live.telemetry.system_topics import SystemTopics
from meshwright.protocol.mqtt.fan_out import FanOut
from meshwright.protocol.mqtt.packets import NEVER_S
from meshwright.protocol.mqtt.terms import Terms
from meshwright.protocol.mqtt.topic_texts import TopicTexts

BACKLOG = 4_096
# So long may it take until a client's connection is encrypted.
TLS_S = 10.0


class Listener:
    """One listening socket and its clients' lines."""

    def __init__(
        self,
        settings: ListenerSettings,
        limits: LimitSettings,
        *,
        host: Host,
        doorman: Doorman,
        crowd: Crowd,
        system_topics: SystemTopics,
    ) -> None:
        self.settings = settings
        self.limits = limits
        self.host = host
        self.doorman = doorman
        self.deadlines = Deadlines(host.clock)
        self.terms = Terms(
            receive_maximum=limits.inflight_max or 65_535,
            packet_bytes_max=limits.packet_bytes_max or Terms().packet_bytes_max,
            topic_alias_maximum=limits.topic_aliases_max,
            keep_alive_max_s=limits.keep_alive_max_s,
            qos_max=limits.qos_max,
            retain_available=limits.retain_available,
            payload_bytes_max=limits.payload_bytes_max,
            empty_client_ids=limits.empty_client_ids,
            session_expiry_max_s=limits.session_expiry_max_s or NEVER_S,
        )
        self.topics = TopicTexts()
        self.fan_out = FanOut()
        self.lines: set[ClientLine] = set()
        self.crowd = crowd
        self.system_topics = system_topics
        self._server: asyncio.Server | None = None

    async def open(self) -> Address:
        """Take the address, but nobody yet; returns it."""
        wanted = parse_address(self.settings.address)
        tls = self.settings.tls
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: ClientLine(self),
                wanted.host,
                wanted.port,
                ssl=None if tls is None else listening_context(tls),
                ssl_handshake_timeout=None if tls is None else TLS_S,
                ssl_shutdown_timeout=None if tls is None else LINGER_S,
                backlog=BACKLOG,
                start_serving=False,
            )
        except OSError as error:
            raise OperatorError(
                f"Nothing can listen on {wanted} ({error.strerror or error}); "
                "choose another address, or stop what listens there."
            ) from error
        return Address(wanted.host, self._server.sockets[0].getsockname()[1])

    async def serve(self) -> None:
        """Begin to take connections."""
        assert self._server is not None
        await self._server.start_serving()

    def opened(self, line: ClientLine) -> bool:
        """A connection came; False if there are too many."""
        if not self.crowd.enter(line.address):
            return False
        self.lines.add(line)
        return True

    def closed(self, line: ClientLine) -> None:
        """A connection is gone."""
        if line in self.lines:
            self.lines.remove(line)
            self.crowd.leave(line.address)

    def new_websocket(self) -> WebSocket | None:
        """What a connection's bytes are wrapped in, if in anything."""
        is_wrapped = self.settings.transport == "websocket"
        return WebSocket(self.settings.origins) if is_wrapped else None

    def new_client_id(self) -> str:
        """A name for a client that has none, which no other client has."""
        return f"{self.host.name}-{secrets.token_hex(8)}"

    def client_address_of(self, broker: str) -> str:
        """Where a client finds another broker."""
        found = self.host.peers.brokers.get(broker)
        return found.clients if found is not None and found.clients else broker

    def users_changed(self) -> None:
        """Let nobody stay who could not come in any more."""
        for line in list(self.lines):
            line.users_changed()

    async def close(self) -> None:
        """Take no more, and let go of those that are here."""
        self.deadlines.close()
        if self._server is not None:
            self._server.close()
        for line in list(self.lines):
            line.shut_down()
