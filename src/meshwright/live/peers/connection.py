"""One connection with another broker: a handshake, then batches of envelopes, one a loop turn.

Everything is sent as four bytes of length and that many bytes of MessagePack; batches are sealed,
unless TLS does that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from hashlib import sha256
from typing import Any, cast

from meshwright.errors import PeerError
from meshwright.live.peers.handshake import (
    Greeting,
    Handshake,
    Known,
    Proof,
    Refusal,
    Sealed,
    decode_handshake,
)
from meshwright.protocol.wire import decode_envelopes, encode

LENGTH_BYTES = 4
HANDSHAKE_BYTES_MAX = 1 << 20
BATCH_BYTES_MAX = 1 << 28
ENVELOPES_A_BATCH = 4_096
UNSENT_BYTES_MAX = 1 << 26
CROWDED_BYTES = 1 << 22
HANDSHAKE_S = 5.0
# So long may the other side take to read why it is refused.
LINGER_S = 0.5
REASON_SHOWN_MAX = 500


class PeerState(Enum):
    """What is expected of the other side next."""

    GREETING = "who it is"
    PROOF = "its proof"
    ENVELOPES = "envelopes"
    NOTHING = "nothing: it is refused"


class PeerConnection(asyncio.Protocol):
    """Turns bytes into envelopes and back, once the other side is known.

    opened is told this connection when it stands, and says whether there is room for it.
    recognised refuses who is known to be another. established, received and lost are told this
    connection; established gets what the other side tells, and keeps it or not; received gets
    envelopes in order. lost is called once, with the reason if the other side broke a rule. known:
    what the other side is told.
    """

    def __init__(
        self,
        handshake: Handshake,
        *,
        is_dialler: bool,
        known: Callable[[Greeting], Known],
        opened: Callable[[PeerConnection], bool],
        recognised: Callable[[Greeting], None],
        established: Callable[[PeerConnection, Known], None],
        received: Callable[[PeerConnection, list[Any]], None],
        lost: Callable[[PeerConnection, str | None], None],
    ) -> None:
        self.is_dialler = is_dialler
        self.address = ""
        self.peer: Greeting | None = None
        self._state = PeerState.GREETING
        self._handshake = handshake
        self._known = known
        self._opened = opened
        self._recognised = recognised
        self._established = established
        self._received = received
        self._lost = lost
        self._sealing: Sealed | None = None
        self._opening: Sealed | None = None
        self._unread = bytearray()
        self._unsent: list[Any] = []
        self._reason: str | None = None
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        if not self._opened(self):
            self._state = PeerState.NOTHING
            self.close()
            return
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(HANDSHAKE_S, self.fail, "It did not say who it is.")
        self._write(self._handshake.said)

    def data_received(self, block: bytes) -> None:
        unread = self._unread
        unread += block
        position = 0
        try:
            while len(unread) - position >= LENGTH_BYTES and self._state is not PeerState.NOTHING:
                length = int.from_bytes(unread[position : position + LENGTH_BYTES], "big")
                self._check_length(length)
                end = position + LENGTH_BYTES + length
                if len(unread) < end:
                    break
                with memoryview(unread) as view:
                    said = bytes(view[position + LENGTH_BYTES : end])
                self._message(said)
                position = end
        except PeerError as error:
            self.fail(str(error))
        if self._state is PeerState.NOTHING:
            unread.clear()
        elif position:
            del unread[:position]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is None:  # see abandon
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._transport = None
        reason = self._reason
        if reason is None and exc is not None and self._state is not PeerState.ENVELOPES:
            reason = str(exc)
        self._lost(self, reason)

    def send(self, envelope: object) -> None:
        """Send an envelope with all others of this loop turn."""
        if self._transport is None:
            return
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent.append(envelope)

    @property
    def is_crowded(self) -> bool:
        """True if the other side is behind, so that whoever has more for it had better wait."""
        transport = self._transport
        return transport is not None and transport.get_write_buffer_size() > CROWDED_BYTES

    def close(self) -> None:
        """Break the connection; what was not sent is lost."""
        if self._transport is not None:
            self._transport.abort()

    def abandon(self) -> None:
        """Break a connection whose dial was given up: uvloop closes it and tells nobody."""
        self.close()
        self.connection_lost(None)

    def fail(self, reason: str) -> None:
        """Break the connection, and say why, to the other side too if it may not know."""
        self._reason = self._reason or reason
        if self._state in (PeerState.GREETING, PeerState.PROOF):
            self._write(encode(Refusal(reason)))
            self._state = PeerState.NOTHING
            asyncio.get_running_loop().call_later(LINGER_S, self.close)
        elif self._state is PeerState.ENVELOPES:
            self.close()

    def _flush(self) -> None:
        envelopes, self._unsent = self._unsent, []
        for first in range(0, len(envelopes), ENVELOPES_A_BATCH):
            encoded = encode(envelopes[first : first + ENVELOPES_A_BATCH])
            self._write(encoded if self._sealing is None else self._sealing.seal(encoded))

    def _write(self, encoded: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.writelines((len(encoded).to_bytes(LENGTH_BYTES, "big"), encoded))
        if transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            self._reason = self._reason or "It takes too little of what it is sent."
            self.close()

    def _check_length(self, length: int) -> None:
        is_open = self._state is PeerState.ENVELOPES
        length_max = BATCH_BYTES_MAX if is_open else HANDSHAKE_BYTES_MAX
        if length > length_max:
            raise PeerError(f"{length} bytes at once are too many; at most {length_max} are taken.")

    def _message(self, encoded: bytes) -> None:
        if self._state is PeerState.ENVELOPES:
            if self._opening is not None:
                encoded = self._opening.open(encoded)
            self._received(self, decode_envelopes(encoded))
            return
        said = decode_handshake(encoded, self._handshake.greeting)
        if isinstance(said, Refusal):
            self._refused(said)
        elif self.peer is None:
            if not isinstance(said, Greeting):
                raise PeerError("It proved something before it said who it is.")
            self._meet(said, encoded)
        elif isinstance(said, Proof):
            self._trust(self.peer, said)
        else:
            raise PeerError(f"{self.peer.name!r} said twice who it is.")

    def _refused(self, refusal: Refusal) -> None:
        who = "A broker" if self.peer is None else repr(self.peer.name)
        self._reason = f"{who} refuses this broker: {refusal.reason[:REASON_SHOWN_MAX]}"
        self._state = PeerState.NOTHING
        self.close()

    def _meet(self, theirs: Greeting, said: bytes) -> None:
        self._handshake.meet(theirs, said, is_dialler=self.is_dialler)
        self.peer = theirs
        self._check_certificate(theirs)
        self._recognised(theirs)
        self._state = PeerState.PROOF
        if self.is_dialler:
            self._prove(theirs)

    def _check_certificate(self, theirs: Greeting) -> None:
        """Refuse who passes on the words of another through an encrypted connection of its own."""
        encrypted = (
            None if self._transport is None else self._transport.get_extra_info("ssl_object")
        )
        if encrypted is None:
            return
        shown = encrypted.getpeercert(binary_form=True)
        if shown is None or sha256(shown).digest() != theirs.certificate:
            raise PeerError(f"{theirs.name!r} shows another certificate than it says.")

    def _trust(self, theirs: Greeting, proof: Proof) -> None:
        told = self._handshake.check(proof, theirs, is_dialler=not self.is_dialler)
        if not self.is_dialler:
            self._prove(theirs)
        assert self._transport is not None
        if self._transport.get_extra_info("ssl_object") is None:
            self._sealing = self._handshake.sealed(is_dialler=self.is_dialler)
            self._opening = self._handshake.sealed(is_dialler=not self.is_dialler)
        self._state = PeerState.ENVELOPES
        if self._deadline is not None:
            self._deadline.cancel()
        self._established(self, told)

    def _prove(self, theirs: Greeting) -> None:
        known = self._known(theirs)
        self._write(encode(self._handshake.prove(known, is_dialler=self.is_dialler)))
