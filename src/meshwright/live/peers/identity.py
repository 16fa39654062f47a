"""What a broker is known by: a key pair of its own, and the public keys of those it has met.

A broker makes its key when it first starts and keeps it in its folder. Whoever meets it remembers
the public half under its name and tells it to others, so that no one who merely knows the network's
secret can come by a name that is taken.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from meshwright.errors import InputFileError, OperatorError, PeerError
from meshwright.files.decoding import decoded
from meshwright.files.reading import read_if_there
from meshwright.files.writing import make_folder, write_whole

IDENTITY_NAME = "identity.json"
KNOWN_NAME = "peers.json"
KEY_BYTES = 32
# Twice as many as a network has seats for.
KNOWN_MAX = 8_192
MARK_CHARACTERS = 16


class Identity(msgspec.Struct, frozen=True):
    """A broker's name, and the private key by which it is known."""

    name: str
    key: bytes

    @property
    def public(self) -> bytes:
        """What others know it by."""
        return self._private.public_key().public_bytes_raw()

    def sign(self, words: bytes) -> bytes:
        """A signature that only this broker can make."""
        return self._private.sign(words)

    @property
    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.key)


def new_identity(name: str) -> Identity:
    """Somebody whom nobody knows yet."""
    return Identity(name, Ed25519PrivateKey.generate().private_bytes_raw())


def find_identity(name: str, folder: Path) -> Identity | None:
    """Who this folder belongs to, if to anybody; refuses that of another broker."""
    path = folder / IDENTITY_NAME
    content = read_if_there(path)
    if content is None:
        return None
    try:
        found = decoded(content, Identity)
    except msgspec.MsgspecError as error:
        raise InputFileError(
            str(path),
            f"this is no key of a broker ({error})",
            remedy="restore it from a copy, or choose another folder and name",
        ) from None
    if len(found.key) != KEY_BYTES:
        raise InputFileError(
            str(path), "its key is cut short", remedy="restore it from a copy of the folder"
        )
    if found.name != name:
        raise OperatorError(
            f"{folder}: this folder belongs to the broker {found.name!r}, not to {name!r}; "
            "choose another folder, or give the broker its name."
        )
    return found


def own_identity(name: str, folder: Path) -> Identity:
    """Who this folder belongs to; a broker that starts for the first time makes a key."""
    found = find_identity(name, folder)
    if found is None:
        found = new_identity(name)
        make_folder(folder, is_private=True)
        write_whole({folder / IDENTITY_NAME: msgspec.json.encode(found)}, is_private=True)
    return found


def check_signature(public: bytes, signature: bytes, words: bytes, name: str) -> None:
    """Refuse who is not the one with this key."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, words)
    except (InvalidSignature, ValueError):
        raise PeerError(f"{name!r} cannot prove that its key is its own.") from None


class KnownPeers:
    """Public keys by name, as they were first met or told of; on disk, so that they stay."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / KNOWN_NAME
        self.keys: dict[str, bytes] = {}
        self._is_written = True

    def open(self) -> None:
        """Read what is known from earlier lives."""
        content = read_if_there(self._path)
        if content is None:
            return
        try:
            self.keys = decoded(content, dict[str, bytes])
        except msgspec.MsgspecError as error:
            raise InputFileError(
                str(self._path),
                f"these are no keys of brokers ({error})",
                remedy="restore it from a copy of the folder",
            ) from None

    def check(self, name: str, public: bytes) -> None:
        """Refuse who comes by the name of another."""
        known = self.keys.get(name)
        if known is None and len(self.keys) >= KNOWN_MAX:
            raise PeerError(f"{name!r} is one broker too many; {KNOWN_MAX} are known already.")
        if known is not None and known != public:
            raise PeerError(
                f"The name {name!r} belongs to another broker, with the key {mark(known)} and not "
                f"{mark(public)}; give this one a name of its own, or its own folder back."
            )

    def learn(self, keys: dict[str, bytes], *, but: str) -> None:
        """Remember those of whom nothing was known before, but for one's own name."""
        news = {name: key for name, key in keys.items() if name not in {*self.keys, but}}
        if news and len(self.keys) + len(news) <= KNOWN_MAX:
            self.keys |= news
            self._is_written = False

    async def write(self) -> None:
        """Keep all that was learnt, also meanwhile; on a full disk until the next news."""
        while not self._is_written:
            self._is_written = True
            content = msgspec.json.encode(self.keys)
            await asyncio.to_thread(write_whole, {self._path: content}, is_private=True)


def mark(public: bytes) -> str:
    """A few characters by which people tell keys apart."""
    return sha256(public).hexdigest()[:MARK_CHARACTERS]
