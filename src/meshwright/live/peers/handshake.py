"""How two brokers make sure of each other before a message is taken.

Both sides say who they are and give one half of a key that is made for this connection. Then each
proves that it knows the network's secret, by a code that no one else can make, and that its key is
its own, by a signature; the side that dialled and the side that listened prove different things,
and who dialled proves first. What follows is encrypted with keys that only these two have.

Tags are words here, and a greeting begins with the same fields in each version: brokers that do not
speak the same version must understand this much of each other to say so.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from meshwright.errors import PeerError
from meshwright.live.peers.identity import Identity, check_signature
from meshwright.live.system.addresses import Whereabouts
from meshwright.model.overlay import Overlay
from meshwright.protocol.foundation.message import Message
from meshwright.protocol.wire import WireVersions, encode

HALF_BYTES = 32
NAME_CHARACTERS_MAX = 256
NUMBER_BYTES = 12
SIGNED_AS = b"meshwright peers 2 "


class Greeting(Message, frozen=True, tag="Greeting"):
    """Who I am: my network, my name, the how-manieth life of mine, and where I listen.

    public: what I am known by; half: of this connection's key; certificate: the digest of the one
    that I show in TLS, if I do. is_asking: I only want to know the network, as no broker yet.
    version: the newest that I speak; version_min: the oldest, or 0 if there is no other.
    """

    version: int
    network: str
    name: str
    incarnation: int
    whereabouts: Whereabouts
    public: bytes
    half: bytes
    certificate: bytes = b""
    is_asking: bool = False
    version_min: int = 0


class Known(Message, frozen=True, tag="Known"):
    """Brokers that I know, by what, and how they are joined.

    founders: those of the network, if I belong to it.
    """

    brokers: dict[str, Whereabouts] = msgspec.field(default_factory=dict)
    overlay: Overlay | None = None
    founders: tuple[str, ...] = ()
    keys: dict[str, bytes] = msgspec.field(default_factory=dict)


class Proof(Message, frozen=True, tag="Proof"):
    """What I know, with a code and a signature that only I can make."""

    known: bytes
    code: bytes
    signature: bytes


class Refusal(Message, frozen=True, tag="Refusal"):
    """Why I want nothing to do with you; the last that I say."""

    reason: str


class _AnyGreeting(Message, frozen=True, tag="Greeting"):
    """What the greetings of all versions have in common, also of those to come.

    What is between the name and the oldest version is of any type in another version.
    """

    version: int
    network: str
    name: str
    incarnation: Any = None
    whereabouts: Any = None
    public: Any = None
    half: Any = None
    certificate: Any = None
    is_asking: Any = None
    version_min: int = 0


_ANY_DECODER = msgspec.msgpack.Decoder(_AnyGreeting | Proof | Refusal)
_GREETING_DECODER = msgspec.msgpack.Decoder(Greeting)
_KNOWN_DECODER = msgspec.msgpack.Decoder(Known)


def decode_handshake(encoded: bytes, mine: Greeting) -> Greeting | Proof | Refusal:
    """What the other side says before it is known; refuses a version that is not spoken here."""
    try:
        said: _AnyGreeting | Proof | Refusal = _ANY_DECODER.decode(encoded)
        if not isinstance(said, _AnyGreeting):
            return said
        _check_versions(mine, said)
        return _GREETING_DECODER.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PeerError(f"What was said is no handshake of a broker ({error}).") from error


def _check_versions(mine: Greeting, theirs: _AnyGreeting) -> None:
    if len(theirs.name) > NAME_CHARACTERS_MAX or len(theirs.network) > NAME_CHARACTERS_MAX:
        raise PeerError(f"It gave a name of more than {NAME_CHARACTERS_MAX} characters.")
    own, other = _versions(mine), _versions(theirs)
    if not own.speaks_with(other):
        older = theirs.name if other.newest < own.newest else mine.name
        # Both names, as the other side is told the same sentence.
        raise PeerError(
            f"Between brokers, {theirs.name!r} speaks {other} and {mine.name!r} speaks {own}; "
            f"run the newer Meshwright at {older!r} too."
        )


def _versions(greeting: Greeting | _AnyGreeting) -> WireVersions:
    return WireVersions(greeting.version, greeting.version_min or greeting.version)


def check_greeting(mine: Greeting, theirs: Greeting) -> None:
    """Refuse who cannot belong to this network."""
    if theirs.network != mine.network:
        raise PeerError(
            f"{theirs.name!r} belongs to the network {theirs.network!r}, not to {mine.network!r}."
        )
    if theirs.name == mine.name:
        raise PeerError(f"Another broker calls itself {mine.name!r} too; give each its own name.")


class Handshake:
    """One side of one handshake: a greeting of its own, then keys for two.

    said: the greeting as it is sent.
    """

    def __init__(self, identity: Identity, greeting: Greeting, secret: bytes) -> None:
        self._private = X25519PrivateKey.generate()
        half = self._private.public_key().public_bytes_raw()
        self.greeting = msgspec.structs.replace(greeting, public=identity.public, half=half)
        self.said = encode(self.greeting)
        self._identity = identity
        self._secret = secret
        self._root = self._words = b""

    def meet(self, theirs: Greeting, said: bytes, *, is_dialler: bool) -> None:
        """Take the other's half of the key; said: its greeting as it came.

        Both sides sign the bytes that were sent: a newer greeting may say more than is read here.
        """
        check_greeting(self.greeting, theirs)
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(theirs.half))
        except ValueError:
            raise PeerError(f"{theirs.name!r} gave no half of a key.") from None
        both = self.said + said if is_dialler else said + self.said
        self._words = sha256(both).digest()
        self._root = hmac.digest(self._secret, shared + self._words, "sha512")

    def prove(self, known: Known, *, is_dialler: bool) -> Proof:
        """The proof of this side, whichever it is."""
        told = encode(known)
        signature = self._identity.sign(self._signed(told, is_dialler))
        return Proof(told, self._code(told, is_dialler), signature)

    def check(self, proof: Proof, theirs: Greeting, *, is_dialler: bool) -> Known:
        """What the other side knows, whichever it is; refuses who cannot prove what it says."""
        if not hmac.compare_digest(proof.code, self._code(proof.known, is_dialler)):
            raise PeerError(
                f"{theirs.name!r} does not know the secret of this network; set the same on both."
            )
        words = self._signed(proof.known, is_dialler)
        check_signature(theirs.public, proof.signature, words, theirs.name)
        try:
            return _KNOWN_DECODER.decode(proof.known)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise PeerError(f"What {theirs.name!r} knows makes no sense ({error}).") from error

    def sealed(self, *, is_dialler: bool) -> Sealed:
        """For what the side that dialled sends, or the side that listened."""
        return Sealed(self._key(b"frames", is_dialler)[:HALF_BYTES])

    def _code(self, told: bytes, is_dialler: bool) -> bytes:
        return hmac.digest(self._key(b"proof", is_dialler), told, "sha256")

    def _signed(self, told: bytes, is_dialler: bool) -> bytes:
        return SIGNED_AS + _role(is_dialler) + self._words + sha256(told).digest()

    def _key(self, use: bytes, is_dialler: bool) -> bytes:
        return hmac.digest(self._root, use + b" of the " + _role(is_dialler), "sha512")


class Sealed:
    """What goes one way on a connection, encrypted (AES-GCM), each with the next number.

    What is changed, left out, put in, repeated or out of order cannot be opened.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._number = 0

    def seal(self, encoded: bytes) -> bytes:
        """What to send in place of it."""
        return self._cipher.encrypt(self._next(), encoded, None)

    def open(self, sealed: bytes) -> bytes:
        """What was sealed; refuses what is not the next that the other side sent."""
        try:
            return self._cipher.decrypt(self._next(), sealed, None)
        except InvalidTag:
            raise PeerError("What came was not sent so by the broker at the other end.") from None

    def _next(self) -> bytes:
        self._number += 1
        return self._number.to_bytes(NUMBER_BYTES, "big")


def _role(is_dialler: bool) -> bytes:
    return b"dialler" if is_dialler else b"listener"
