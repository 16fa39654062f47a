"""One connection with another broker: a handshake, then batches of frames, one a loop turn.

Everything is sent as four bytes of length and that many bytes of MessagePack.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from meshwright.errors import PeerError
from meshwright.live.addresses import Whereabouts
from meshwright.live.peer_handshake import (
    Greeting,
    Proof,
    check_greeting,
    check_proof,
    decode_handshake,
    proof_code,
)
from meshwright.model.overlay import Overlay
from meshwright.protocol.wire import decode_frames, encode

LENGTH_BYTES = 4
HANDSHAKE_BYTES_MAX = 1 << 20
BATCH_BYTES_MAX = 1 << 28
FRAMES_A_BATCH = 4_096
UNSENT_BYTES_MAX = 1 << 26
CROWDED_BYTES = 1 << 22
HANDSHAKE_S = 5.0


# Where brokers are, the overlay in force, and who founded the network.
Known = tuple[dict[str, Whereabouts], Overlay | None, tuple[str, ...]]


class PeerConnection(asyncio.Protocol):
    """Turns bytes into frames and back, once the other side is known.

    established, received and lost are told this connection; received gets frames in order. lost is
    called once, with the reason if the other side broke a rule. known: what it is told.
    """

    def __init__(
        self,
        greeting: Greeting,
        secret: bytes,
        *,
        is_dialler: bool,
        known: Callable[[], Known],
        established: Callable[[PeerConnection], None],
        received: Callable[[PeerConnection, list[Any]], None],
        lost: Callable[[PeerConnection, str | None], None],
    ) -> None:
        self.is_dialler = is_dialler
        self.peer: Greeting | None = None
        self.proof: Proof | None = None
        self._greeting = greeting
        self._secret = secret
        self._known = known
        self._established = established
        self._received = received
        self._lost = lost
        self._unread = bytearray()
        self._unsent: list[Any] = []
        self._reason: str | None = None
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(HANDSHAKE_S, self.fail, "It did not say who it is.")
        self._write(encode(self._greeting))

    def data_received(self, block: bytes) -> None:
        unread = self._unread
        unread += block
        position = 0
        try:
            while len(unread) - position >= LENGTH_BYTES:
                length = int.from_bytes(unread[position : position + LENGTH_BYTES], "big")
                self._check_length(length)
                end = position + LENGTH_BYTES + length
                if len(unread) < end:
                    break
                self._message(bytes(unread[position + LENGTH_BYTES : end]))
                position = end
        except PeerError as error:
            self.fail(str(error))
        if position:
            del unread[:position]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._transport = None
        reason = self._reason or (str(exc) if exc is not None else None)
        self._lost(self, reason)

    def send(self, frame: object) -> None:
        """Send a frame with all others of this loop turn."""
        if self._transport is None:
            return
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent.append(frame)

    @property
    def is_crowded(self) -> bool:
        """True if the other side is behind, so that whoever has more for it had better wait."""
        transport = self._transport
        return transport is not None and transport.get_write_buffer_size() > CROWDED_BYTES

    def close(self) -> None:
        """Break the connection; what was not sent is lost."""
        if self._transport is not None:
            self._transport.abort()

    def fail(self, reason: str) -> None:
        """Break the connection, and say why."""
        self._reason = self._reason or reason
        self.close()

    def _flush(self) -> None:
        frames, self._unsent = self._unsent, []
        for first in range(0, len(frames), FRAMES_A_BATCH):
            self._write(encode(frames[first : first + FRAMES_A_BATCH]))

    def _write(self, encoded: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.writelines((len(encoded).to_bytes(LENGTH_BYTES, "big"), encoded))
        if transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            self.fail("It takes too little of what it is sent.")

    def _check_length(self, length: int) -> None:
        length_max = HANDSHAKE_BYTES_MAX if self.proof is None else BATCH_BYTES_MAX
        if length > length_max:
            raise PeerError(f"{length} bytes at once are too many; at most {length_max} are taken.")

    def _message(self, encoded: bytes) -> None:
        if self.proof is not None:
            self._received(self, decode_frames(encoded))
            return
        said = decode_handshake(encoded)
        if self.peer is None:
            if not isinstance(said, Greeting):
                raise PeerError("It proved something before it said who it is.")
            self._meet(said)
        elif isinstance(said, Proof):
            self._trust(self.peer, said)
        else:
            raise PeerError(f"{self.peer.name!r} said twice who it is.")

    def _meet(self, theirs: Greeting) -> None:
        check_greeting(self._greeting, theirs)
        self.peer = theirs
        if self.is_dialler:
            self._prove(theirs)

    def _trust(self, theirs: Greeting, proof: Proof) -> None:
        code = proof_code(self._secret, theirs, self._greeting, is_dialler=not self.is_dialler)
        check_proof(proof, code, theirs.name)
        if not self.is_dialler:
            self._prove(theirs)
        self.proof = proof
        if self._deadline is not None:
            self._deadline.cancel()
        self._established(self)

    def _prove(self, theirs: Greeting) -> None:
        code = proof_code(self._secret, self._greeting, theirs, is_dialler=self.is_dialler)
        self._write(encode(Proof(code, *self._known())))
