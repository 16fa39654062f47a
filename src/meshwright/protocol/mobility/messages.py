"""Messages between two brokers when a client moves from one to the other: the standard policy.

The new broker asks the old one for the session (MoveAsk), gets its filters (MoveBegun), puts them
in force and says so (MoveReady). The old broker waits until all that was published before has
reached it, and sends the whole session (MoveEnd). It goes on collecting messages for the client
until the new broker has the session on disk and has claimed the client (MoveDone). So after a crash
of either at least one of the two has the whole session.
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
    """How often moves are looked after, and how long a client waits for its session.

    tick_us: the time between two looks.
    lodge_after_us: after this time a client is let in while its session stays where it is.
    patience_us: after this time a client is refused.
    claim_rest_us: how long a broker keeps its claim on a client that has no session any more.
    clients_per_second: how many clients a broker sends to others at most; 0 for all at once.
    notice_us: how long before a plan or an operator has it send clients it says so.
    """

    tick_us: int = 100_000
    lodge_after_us: int = 1_000_000
    patience_us: int = 8_000_000
    claim_rest_us: int = 60_000_000
    clients_per_second: int = 0
    notice_us: int = 0


class MoveOffer(PeerMessage, frozen=True, gc=False, tag=110):
    """A broker offers the session of a client that is away to the broker where it may go next.

    The receiver then asks for it (MoveAsk), so that the session is there before its client.
    """

    counts_as = "mobility"

    client: str


class MoveAsk(PeerMessage, frozen=True, gc=False, tag=111):
    """A broker where a client has connected asks another one for its session.

    is_offered: the client is not there yet, but its session was offered.
    carried: digest of the filters that the client brought along, if it did (digest_of).
    claim: the number of the asking broker's claim on the client, made or to be made.
    """

    counts_as = "mobility"

    client: str
    serial: int
    is_offered: bool = False
    carried: bytes | None = None
    claim: int = 0


class MoveBegun(PeerMessage, frozen=True, gc=False, tag=112):
    """The old broker tells the session's filters; everything else follows later.

    subscriptions: None if the client brought the same filters along.
    """

    counts_as = "mobility"

    client: str
    serial: int
    identity: str
    subscriptions: tuple[Subscription, ...] | None


class MoveNotHere(PeerMessage, frozen=True, gc=False, tag=113):
    """The broker that was asked does not have the session.

    elsewhere: the broker that it gave the session to, if it did.
    is_late: the client has connected elsewhere after it connected at the receiver, which must
        refuse it.
    settled: claims up to this number are void, as a session was open here under it.
    """

    counts_as = "mobility"

    client: str
    serial: int
    elsewhere: str | None
    is_late: bool = False
    settled: int = 0


class MoveReady(PeerMessage, frozen=True, gc=False, tag=114):
    """The new broker has put the session's filters in force."""

    counts_as = "mobility"

    client: str
    serial: int


class MoveStored(PeerMessage, frozen=True, gc=False, tag=115):
    """The old broker names the publications that wait in the session, before it sends them."""

    counts_as = "mobility"

    client: str
    serial: int
    events: tuple[PublicationId, ...]


class MoveSeen(PeerMessage, frozen=True, gc=False, tag=116):
    """The new broker names those of them that it has seen, which need not be sent."""

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
    """The session did not arrive, or is not wanted any more: the old broker keeps it."""

    counts_as = "mobility"

    client: str


class MoveDone(PeerMessage, frozen=True, gc=False, tag=119):
    """The new broker has the session on disk and has claimed the client: drop the old copy."""

    counts_as = "mobility"

    client: str


class HaveYou(PeerMessage, frozen=True, gc=False, tag=120):
    """The old broker asks whether the session that it sent has arrived."""

    counts_as = "mobility"

    client: str


class Discard(PeerMessage, frozen=True, gc=False, tag=121):
    """A client began a new session at a broker: drop an older one, unless its claim is higher."""

    counts_as = "mobility"

    client: str
    claim: int
    broker: str

    def is_below(self, claim: int, broker: str) -> bool:
        """True if a session under this claim, at this broker, must be kept."""
        return (self.claim, self.broker) < (claim, broker)


class DiscardDone(PeerMessage, frozen=True, gc=False, tag=122):
    """The older session is dropped, and that is on disk."""

    counts_as = "mobility"

    client: str
    claim: int


def digest_of(subscriptions: Iterable[Subscription]) -> bytes:
    """A digest of subscriptions that does not depend on their order."""
    encoded = sorted(map(msgspec.msgpack.encode, subscriptions))
    return hashlib.blake2b(msgspec.msgpack.encode(encoded), digest_size=16).digest()
