"""How a broker that knows one address of its network finds all others, and how they are joined."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.writing import make_folder, write_whole
from meshwright.live.addresses import Whereabouts, parse_address
from meshwright.live.peer_connection import PeerConnection
from meshwright.live.peer_handshake import NONCE_BYTES, WIRE_VERSION, Greeting
from meshwright.live.peers import PeerSettings
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
    """What members say of their network, or said last."""
    path = folder / FILE_NAME
    found = asyncio.run(_ask_first(name, addresses, settings))
    if found is None:
        try:
            found = msgspec.json.decode(path.read_bytes(), type=Network)
        except (OSError, msgspec.MsgspecError):
            raise OperatorError(
                f"No broker answers at {', '.join(addresses)}; check the addresses and the "
                "network's secret, and start one of them first."
            ) from None
    make_folder(folder)
    write_whole({path: msgspec.json.encode(found)})
    return found


async def _ask_first(
    name: str, addresses: tuple[str, ...], settings: PeerSettings
) -> Network | None:
    for address in addresses:
        found = await _ask(name, address, settings)
        if found is not None:
            return found
    return None


async def _ask(name: str, text: str, settings: PeerSettings) -> Network | None:
    """One member's answer; None if nobody is there that proves to be one."""
    answer: asyncio.Future[Network | None] = asyncio.get_running_loop().create_future()

    def established(connection: PeerConnection) -> None:
        proof = connection.proof
        if proof is not None and proof.overlay is not None and not answer.done():
            answer.set_result(Network(proof.overlay, proof.brokers, proof.founders))
        connection.close()

    def lost(_connection: PeerConnection, _reason: str | None) -> None:
        if not answer.done():
            answer.set_result(None)

    greeting = Greeting(
        WIRE_VERSION,
        settings.network,
        f"{name} (asking)",
        0,
        Whereabouts(""),
        secrets.token_bytes(NONCE_BYTES),
        is_asking=True,
    )
    address = parse_address(text)
    try:
        async with asyncio.timeout(ASK_S):
            await asyncio.get_running_loop().create_connection(
                lambda: PeerConnection(
                    greeting,
                    settings.secret,
                    is_dialler=True,
                    known=lambda: ({}, None, ()),
                    established=established,
                    received=lambda _connection, _frames: None,
                    lost=lost,
                ),
                address.host,
                address.port,
                ssl=settings.dialling,
            )
            return await answer
    except (OSError, TimeoutError):
        return None
