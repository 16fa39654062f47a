"""What two brokers say when a client moves from one to the other: the standard protocol.

The new broker asks the old one for the session, puts its filters in force here, and says so. The
old one waits until all that entered the network before has reached it, and sends everything along;
it goes on collecting for the client until the new broker has it all on disk and has claimed the
client. So at any crash at least one of the two has the whole session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from meshwright.model.publication import PublicationId
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.mqtt.packets import Subscription
from meshwright.protocol.sessions.session_state import SessionState


class MovingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often moves are looked after, and how long a client is kept waiting for its session.

    lodge_after_us: after this time a client is let in while its session stays where it is.
    claim_rest_us: how long a broker claims a client that has no session any more.
    """

    tick_us: int = 100_000
    lodge_after_us: int = 1_000_000
    patience_us: int = 8_000_000
    claim_rest_us: int = 60_000_000


class MoveOffer(PeerMessage, frozen=True, gc=False, tag=110):
    """The client has gone, probably to you: ask for its session, so that it is there first."""

    counts_as = "mobility"

    client: str


class MoveAsk(PeerMessage, frozen=True, gc=False, tag=111):
    """The client is here; send its session.

    is_offered: the client is not here, but the session was offered. carried: what the filters that
    the client brought along come to, if it did (digest_of). claim: the number with which the client
    is claimed there, or will be.
    """

    counts_as = "mobility"

    client: str
    serial: int
    is_offered: bool = False
    carried: bytes | None = None
    claim: int = 0


class MoveBegun(PeerMessage, frozen=True, gc=False, tag=112):
    """These are its filters, None if the client brought the same; everything else follows."""

    counts_as = "mobility"

    client: str
    serial: int
    identity: str
    subscriptions: tuple[Subscription, ...] | None


class MoveNotHere(PeerMessage, frozen=True, gc=False, tag=113):
    """There is no such session here; elsewhere names who was given it.

    is_late: the client came in elsewhere after it came in at the receiver, which is to refuse it.
    settled: all claims up to this number are void, as a session was open here under it.
    """

    counts_as = "mobility"

    client: str
    serial: int
    elsewhere: str | None
    is_late: bool = False
    settled: int = 0


class MoveReady(PeerMessage, frozen=True, gc=False, tag=114):
    """Its filters are in force here."""

    counts_as = "mobility"

    client: str
    serial: int


class MoveStored(PeerMessage, frozen=True, gc=False, tag=115):
    """These publications wait here for the client: say which of them you have seen."""

    counts_as = "mobility"

    client: str
    serial: int
    events: tuple[PublicationId, ...]


class MoveSeen(PeerMessage, frozen=True, gc=False, tag=116):
    """These need not be sent."""

    counts_as = "mobility"

    client: str
    serial: int
    events: tuple[PublicationId, ...]


class MoveEnd(PeerMessage, frozen=True, gc=False, tag=117):
    """The whole session; it is the receiver's once the receiver has claimed the client."""

    counts_as = "mobility"

    client: str
    serial: int
    session_state: SessionState


class MoveCancelled(PeerMessage, frozen=True, gc=False, tag=118):
    """The session did not get here: keep it."""

    counts_as = "mobility"

    client: str


class MoveDone(PeerMessage, frozen=True, gc=False, tag=119):
    """The client is claimed here and its session on disk: forget yours."""

    counts_as = "mobility"

    client: str


class HaveYou(PeerMessage, frozen=True, gc=False, tag=120):
    """A broker asks whether the session that it gave has arrived."""

    counts_as = "mobility"

    client: str


class Discard(PeerMessage, frozen=True, gc=False, tag=121):
    """The client began a new session at a broker: forget yours, if its claim is not above that."""

    counts_as = "mobility"

    client: str
    claim: int
    broker: str

    def is_below(self, claim: int, broker: str) -> bool:
        """True if a session of this claim, at this broker, is not to be forgotten."""
        return (self.claim, self.broker) < (claim, broker)


class DiscardDone(PeerMessage, frozen=True, gc=False, tag=122):
    """It is forgotten, and that is on disk."""

    counts_as = "mobility"

    client: str
    claim: int


def digest_of(subscriptions: Iterable[Subscription]) -> bytes:
    """The same for the same subscriptions in any order."""
    encoded = sorted(map(msgspec.msgpack.encode, subscriptions))
    return hashlib.blake2b(msgspec.msgpack.encode(encoded), digest_size=16).digest()
