"""How a broker that knows one address of its network finds all others, and how they are joined."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.reading import read_if_there
from meshwright.files.writing import write_whole
from meshwright.live.peers.connection import PeerConnection
from meshwright.live.peers.handshake import Handshake, Known
from meshwright.live.peers.identity import Identity, own_identity
from meshwright.live.peers.peers import PeerSettings, new_greeting
from meshwright.live.system.addresses import Whereabouts, parse_address
from meshwright.model.overlay import Overlay

ASK_S = 5.0
FILE_NAME = "network.json"


class Network(msgspec.Struct, frozen=True):
    """How a network's brokers are joined, where they listen, and which of them founded it."""

    overlay: Overlay
    brokers: dict[str, Whereabouts]
    founders: tuple[str, ...] = ()


def find_network(
    name: str, folder: Path, addresses: tuple[str, ...], settings: PeerSettings
) -> Network:
    """What members say of their network, or said last; who is refused is told why."""
    path = folder / FILE_NAME
    identity = own_identity(name, folder)
    found, refusals = asyncio.run(_ask_first(identity, addresses, settings))
    if found is None and refusals:
        raise OperatorError(f"{name} cannot join at {' '.join(refusals)}")
    if found is None:
        content = read_if_there(path)
        try:
            found = decoded(content or b"", Network)
        except msgspec.MsgspecError:
            raise OperatorError(
                f"No broker answers at {', '.join(addresses)}; check the addresses, and start "
                "one of them first."
            ) from None
    write_whole({path: msgspec.json.encode(found)}, is_private=True)
    return found


async def _ask_first(
    identity: Identity, addresses: tuple[str, ...], settings: PeerSettings
) -> tuple[Network | None, list[str]]:
    """The first answer, or why there is none from those who said so."""
    refusals = []
    for address in addresses:
        found = await _ask(identity, address, settings)
        if isinstance(found, Network):
            return found, []
        if found is not None:
            refusals.append(f"{address}: {found}")
    return None, refusals


async def _ask(identity: Identity, text: str, settings: PeerSettings) -> Network | str | None:
    """One member's answer, or its refusal; None if nobody is there that proves to be one."""
    answer: asyncio.Future[Network | str | None] = asyncio.get_running_loop().create_future()

    def established(connection: PeerConnection, told: Known) -> None:
        if told.overlay is not None and not answer.done():
            answer.set_result(Network(told.overlay, told.brokers, told.founders))
        connection.close()

    def lost(_connection: PeerConnection, reason: str | None) -> None:
        if not answer.done():
            answer.set_result(reason)

    greeting = new_greeting(settings, identity.name, Whereabouts(""), is_asking=True)
    address = parse_address(text)
    try:
        async with asyncio.timeout(ASK_S):
            await asyncio.get_running_loop().create_connection(
                lambda: PeerConnection(
                    Handshake(identity, greeting, settings.secret),
                    is_dialler=True,
                    known=lambda _theirs: Known(),
                    opened=lambda _connection: True,
                    recognised=lambda _theirs: None,
                    established=established,
                    received=lambda _connection, _envelopes: None,
                    lost=lost,
                ),
                address.host,
                address.port,
                ssl=settings.dialling,
            )
            return await answer
    except (OSError, TimeoutError):
        return None
