"""How two brokers make sure of each other before a frame is taken.

Both sides say who they are with a number never used before, then each proves that it knows the
network's secret by a code over both greetings. The side that dialled and the side that listened
prove different things, so neither can be answered with its own words. Who dialled proves first.
"""

from __future__ import annotations

import hmac

import msgspec

from meshwright.errors import PeerError
from meshwright.live.addresses import Whereabouts
from meshwright.model.overlay import Overlay
from meshwright.protocol.message import Message

WIRE_VERSION = 1
NONCE_BYTES = 32


class Greeting(Message, frozen=True):
    """Who I am: my network, my name, the how-manieth life of mine, and where I listen.

    is_asking: I am no broker yet, and only want to know the network.
    """

    version: int
    network: str
    name: str
    incarnation: int
    whereabouts: Whereabouts
    nonce: bytes
    is_asking: bool = False


class Proof(Message, frozen=True):
    """A code that only one who knows the secret can make; brokers that I know, and how joined.

    founders: those of the network, if I belong to it.
    """

    code: bytes
    brokers: dict[str, Whereabouts]
    overlay: Overlay | None = None
    founders: tuple[str, ...] = ()


_DECODER = msgspec.msgpack.Decoder(Greeting | Proof)


def decode_handshake(encoded: bytes) -> Greeting | Proof:
    """What the other side says before it is known."""
    try:
        said: Greeting | Proof = _DECODER.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PeerError(f"What was said is no handshake of a broker ({error}).") from error
    return said


def check_greeting(mine: Greeting, theirs: Greeting) -> None:
    """Refuse who cannot belong to this network."""
    if theirs.version != mine.version:
        raise PeerError(
            f"{theirs.name!r} speaks version {theirs.version} of the protocol and this broker "
            f"version {mine.version}; run the same Meshwright on both."
        )
    if theirs.network != mine.network:
        raise PeerError(
            f"{theirs.name!r} belongs to the network {theirs.network!r}, not to {mine.network!r}."
        )
    if theirs.name == mine.name:
        raise PeerError(f"Another broker calls itself {mine.name!r} too; give each its own name.")
    if len(theirs.nonce) != NONCE_BYTES:
        raise PeerError(f"{theirs.name!r} gave {len(theirs.nonce)} bytes instead of {NONCE_BYTES}.")


def proof_code(secret: bytes, mine: Greeting, theirs: Greeting, *, is_dialler: bool) -> bytes:
    """The code of the side whose greeting is `mine`."""
    role = b"dialler" if is_dialler else b"listener"
    words = msgspec.msgpack.encode((role, mine, theirs))
    return hmac.digest(secret, words, "sha256")


def check_proof(proof: Proof, expected: bytes, name: str) -> None:
    """Refuse who does not know the secret."""
    if not hmac.compare_digest(proof.code, expected):
        raise PeerError(f"{name!r} does not know the secret of this network; set the same on both.")
