"""All connections of one broker with others: where they are, who dials, which connection counts.

Two brokers that dial each other at once keep the connection that the lower name dialled, and a
broker that comes back in a new life replaces what is left of its last one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshwright.errors import OperatorError
from meshwright.live.peers.connection import PeerConnection
from meshwright.live.peers.handshake import Greeting, Handshake, Known
from meshwright.live.peers.identity import Identity, KnownPeers, own_identity
from meshwright.live.system.addresses import Address, Whereabouts, parse_address
from meshwright.live.system.file_budget import file_budget
from meshwright.model.overlay import Overlay
from meshwright.protocol.foundation.events import Event, LinkDown, LinkUp, PeerEnvelope
from meshwright.protocol.wire import SPOKEN, WireVersions

DIAL_S = 5.0
# The same refusal is told again after so long, and so many different ones within that time.
SAY_AGAIN_S = 60.0
SAID_MAX = 256

# The overlay in force at a broker and the founders of its network; of no use to who is not in one.
Belonging = tuple[Overlay | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSettings:
    """What brokers of one network share; contexts: of TLS, in place of their own seals.

    certificate: the digest of the one that this broker shows. advertise: where others dial this
    one, unless where it listens. versions: of the bytes between brokers, that this one speaks.
    """

    network: str
    secret: bytes
    listening: ssl.SSLContext | None = None
    dialling: ssl.SSLContext | None = None
    certificate: bytes = b""
    advertise: str | None = None
    versions: WireVersions = SPOKEN


class Peers:
    """The other brokers, as far as this one can reach them.

    folder: where it keeps its key and those of the others. tell gets what happens to links;
    refused is told of strangers. brokers: where each listens, as far as is known. belongs_to: the
    overlay in force and the founders, if this broker is a member; others may ask for it. watched:
    sees the envelopes that come together from a peer, if somebody counts them.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        settings: PeerSettings,
        *,
        tell: Callable[[Event], None],
        refused: Callable[[str, str], None],
        belongs_to: Callable[[], Belonging] = lambda: (None, ()),
    ) -> None:
        self.brokers: dict[str, Whereabouts] = {}
        self.watched: Callable[[str, list[Any]], None] | None = None
        self._name = name
        self._folder = folder
        self._settings = settings
        self._tell = tell
        self._refused = refused
        self._said_s: dict[str, float] = {}
        self._identity: Identity | None = None
        self._known = KnownPeers(folder)
        self._writing: asyncio.Task[None] | None = None
        self._belongs_to = belongs_to
        self._incarnation = 0
        self._server: asyncio.Server | None = None
        self._connections: dict[str, PeerConnection] = {}
        self._dials: dict[str, asyncio.Task[None]] = {}
        self._strangers: set[PeerConnection] = set()
        self._strangers_max = 0

    async def listen(self, address: Address, incarnation: int, clients: str = "") -> Whereabouts:
        """Take connections; returns where others may dial, beside where clients come in."""
        self._incarnation = incarnation
        self._identity = own_identity(self._name, self._folder)
        self._known.open()
        self._strangers_max = file_budget().strangers
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: self._new_connection(is_dialler=False),
                address.host,
                address.port,
                ssl=self._settings.listening,
                ssl_handshake_timeout=None if self._settings.listening is None else DIAL_S,
            )
        except OSError as error:
            raise OperatorError(
                f"Nothing can listen on {address} for other brokers ({error.strerror or error}); "
                "choose another peers.listen, or stop what listens there."
            ) from error
        port = self._server.sockets[0].getsockname()[1]
        found = Whereabouts(self._settings.advertise or str(Address(address.host, port)), clients)
        self.brokers[self._name] = found
        return found

    def open(self, peer: str) -> None:
        """Dial a peer, unless that is done already; tells LinkUp or LinkDown."""
        if peer in self._connections:
            return
        if peer not in self.brokers:
            asyncio.get_running_loop().call_soon(self._not_reached, peer)
        elif peer not in self._dials:
            self._dials[peer] = asyncio.get_running_loop().create_task(self._dial(peer))

    def send(self, peer: str, envelope: object) -> None:
        """Send an envelope on the connection that stands; without one it is lost."""
        connection = self._connections.get(peer)
        if connection is not None:
            connection.send(envelope)

    def close_link(self, peer: str) -> None:
        """Break the connection with a peer."""
        connection = self._connections.pop(peer, None)
        if connection is not None:
            connection.close()

    def is_crowded(self) -> bool:
        """True if a peer takes what it is sent more slowly than it comes."""
        return any(connection.is_crowded for connection in self._connections.values())

    def connected(self) -> tuple[str, ...]:
        """The peers with which a connection stands."""
        return tuple(sorted(self._connections))

    async def close(self) -> None:
        """Break all connections, and take no more."""
        if self._server is not None:
            self._server.close()
        for dial in self._dials.values():
            dial.cancel()
        connections = [*self._strangers, *self._connections.values()]
        self._connections.clear()
        self._strangers.clear()
        for connection in connections:
            connection.close()
        if self._writing is not None:
            await self._writing

    async def _dial(self, peer: str) -> None:
        loop, connection = asyncio.get_running_loop(), self._new_connection(is_dialler=True)
        try:
            address = parse_address(self.brokers[peer].peers)
            async with asyncio.timeout(DIAL_S):
                await loop.create_connection(
                    lambda: connection,
                    address.host,
                    address.port,
                    ssl=self._settings.dialling,
                )
        except (OSError, TimeoutError, OperatorError, UnicodeError):
            # Nobody is there, or what was told of it is no address.
            connection.abandon()
            del self._dials[peer]
            self._not_reached(peer)
        else:
            # From here on the connection itself tells how it goes.
            del self._dials[peer]

    def _not_reached(self, peer: str) -> None:
        """Say so, unless the peer has come by itself meanwhile."""
        if peer not in self._connections:
            self._tell(LinkDown(peer))

    def _new_connection(self, *, is_dialler: bool) -> PeerConnection:
        assert self._identity is not None
        greeting = new_greeting(
            self._settings, self._name, self.brokers[self._name], incarnation=self._incarnation
        )
        return PeerConnection(
            Handshake(self._identity, greeting, self._settings.secret),
            is_dialler=is_dialler,
            known=self._tells,
            opened=self._opened,
            recognised=self._recognise,
            established=self._established,
            received=self._received,
            lost=self._lost,
        )

    def _opened(self, connection: PeerConnection) -> bool:
        has_room = connection.is_dialler or len(self._strangers) < self._strangers_max
        if has_room:
            self._strangers.add(connection)
        return has_room

    def _tells(self, theirs: Greeting) -> Known:
        """Who is where and has which key; who asks is told of the network, too."""
        assert self._identity is not None
        keys = {**self._known.keys, self._name: self._identity.public}
        overlay, founders = self._belongs_to() if theirs.is_asking else (None, ())
        return Known(self.brokers, overlay, founders, keys)

    def _recognise(self, theirs: Greeting) -> None:
        self._known.check(theirs.name, theirs.public)

    def _established(self, connection: PeerConnection, told: Known) -> None:
        assert connection.peer is not None
        peer = connection.peer
        if peer.is_asking:
            asyncio.get_running_loop().call_later(DIAL_S, connection.close)
            return
        self._strangers.discard(connection)
        self._learn({**told.keys, peer.name: peer.public})
        for name, whereabouts in told.brokers.items():
            self.brokers.setdefault(name, whereabouts)
        self.brokers[peer.name] = peer.whereabouts
        former = self._connections.get(peer.name)
        if former is not None:
            if not self._replaces(connection, former):
                connection.close()
                return
            self._connections.pop(peer.name).close()
            self._tell(LinkDown(peer.name))
        self._connections[peer.name] = connection
        self._tell(LinkUp(peer.name))

    def _learn(self, keys: dict[str, bytes]) -> None:
        self._known.learn(keys, but=self._name)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_known())

    async def _write_known(self) -> None:
        """Beside the loop: a broker that meets a hundred others would stand still for seconds."""
        try:
            await self._known.write()
        except OperatorError as error:  # on a full disk they are known until the next start
            self._say(str(error))

    def _replaces(self, connection: PeerConnection, former: PeerConnection) -> bool:
        assert connection.peer is not None
        assert former.peer is not None
        if connection.peer.incarnation != former.peer.incarnation:
            return connection.peer.incarnation > former.peer.incarnation
        if connection.is_dialler == former.is_dialler:
            return True
        return connection.is_dialler == (self._name < connection.peer.name)

    def _received(self, connection: PeerConnection, envelopes: list[Any]) -> None:
        assert connection.peer is not None
        name = connection.peer.name
        if self.watched is not None:
            self.watched(name, envelopes)
        for envelope in envelopes:
            if self._connections.get(name) is not connection:
                return
            self._tell(PeerEnvelope(name, envelope))

    def _lost(self, connection: PeerConnection, reason: str | None) -> None:
        self._strangers.discard(connection)
        if reason is not None:
            self._say(reason, connection.address)
        if connection.peer is not None and connection is self._connections.get(
            connection.peer.name
        ):
            del self._connections[connection.peer.name]
            self._tell(LinkDown(connection.peer.name))

    def _say(self, reason: str, address: str = "") -> None:
        """Tell of a refusal, unless the same was told lately or there are too many.

        address: where the other broker is.
        """
        now_s = asyncio.get_running_loop().time()
        if len(self._said_s) >= SAID_MAX:
            lately = self._said_s.items()
            self._said_s = {one: at_s for one, at_s in lately if now_s - at_s < SAY_AGAIN_S}
        said_s = self._said_s.get(reason)
        if len(self._said_s) < SAID_MAX and (said_s is None or now_s - said_s >= SAY_AGAIN_S):
            self._said_s[reason] = now_s
            self._refused(reason, address)


def new_greeting(
    settings: PeerSettings,
    name: str,
    whereabouts: Whereabouts,
    *,
    incarnation: int = 0,
    is_asking: bool = False,
) -> Greeting:
    """What a broker says first, but for the keys that a handshake gives it."""
    return Greeting(
        settings.versions.newest,
        settings.network,
        name,
        incarnation,
        whereabouts,
        public=b"",
        half=b"",
        certificate=settings.certificate,
        is_asking=is_asking,
        version_min=settings.versions.oldest,
    )
