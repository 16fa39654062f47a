"""One client's session: what it wants, what waits for it, what is under way to it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import msgspec

from meshwright.model.publication import Publication, StreamPoint
from meshwright.protocol.packets import Subscription, Will


class Waiting(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A publication for a client: its place in the queue, and how it is to be handed over.

    origin and number: where it stands in its stream. hand: of which shared subscription it is, and
    the number under which its keeper handed it.
    """

    place: int
    publication: Publication
    qos: int
    retain: bool
    subscription_ids: tuple[int, ...]
    origin: str = ""
    number: int = 0
    hand: tuple[str, int] | None = None


class Session:
    """All that a broker remembers of one client.

    connection counts the client's connections here. identity names the publisher of all that
    enters through this session. disconnected_us: since when it has no connection. is_durable: it
    is kept on disk, as it outlives its connection, or did before. queue: what waits.
    under_way: by packet identifier, what was sent and is not settled, in the order of sending;
    unsent holds those that were not yet sent again on this connection, released those of QoS 2
    whose message the client has. received: packet identifiers of QoS 2 messages from the client
    that it has not released. is_arriving: it collects here, but its client's former broker still
    has it. is_leaving: it was sent elsewhere. floors, points and visits: what is left of former
    brokers. claim: a number as high as any with which a broker claimed the client for this session.
    """

    __slots__ = (
        "claim", "client", "connection", "disconnected_us", "expiry_s", "floors", "identity",
        "is_arriving", "is_connected", "is_durable", "is_leaving", "next_index", "next_packet_id",
        "points", "queue", "receive_maximum", "received", "released", "sequence", "subscriptions",
        "under_way", "unsent", "visits", "will",
    )  # fmt: skip

    def __init__(self, client: str, identity: str) -> None:
        self.client = client
        self.identity = identity
        self.sequence = 0
        self.expiry_s = 0
        self.receive_maximum = 65_535
        self.is_connected = False
        self.connection = 0
        self.disconnected_us: int | None = None
        self.is_durable = False
        self.will: Will | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.queue: deque[Waiting] = deque()
        self.under_way: dict[int, Waiting] = {}
        self.unsent: dict[int, None] = {}
        self.released: dict[int, None] = {}
        self.received: dict[int, None] = {}
        self.next_index = 0
        self.next_packet_id = 0
        self.is_arriving = False
        self.is_leaving = False
        self.floors: dict[tuple[str, str], int] = {}
        self.points: dict[str, StreamPoint] = {}
        self.visits: tuple[str, ...] = ()
        self.claim = 0

    def last_for(self, expiry_s: int) -> None:
        """Outlive the connection by this time from now on; once on disk, a session stays there."""
        self.expiry_s = expiry_s
        self.is_durable = self.is_durable or expiry_s > 0

    def has_sent(self, publication: Publication) -> bool:
        """True if its client published it, in this session or in one before."""
        return publication.publisher.rpartition("@")[0] == self.client

    def free_packet_id(self) -> int:
        """A packet identifier that is not under way."""
        while True:
            self.next_packet_id = self.next_packet_id % 65_535 + 1
            if self.next_packet_id not in self.under_way:
                return self.next_packet_id

    def has_window(self) -> bool:
        """True if the client takes one more message now."""
        sent_count = len(self.under_way) - len(self.unsent)
        return self.is_connected and sent_count < self.receive_maximum


class Recipient(NamedTuple):
    """A session that gets a publication, and what its matching subscriptions ask for together."""

    session: Session
    qos: int
    retains: bool
    identifiers: tuple[int, ...]


def recipient_of(session: Session, granted: list[Subscription]) -> Recipient:
    """How a session gets what several of its subscriptions ask for."""
    return Recipient(
        session,
        max([one.qos for one in granted]),
        any(one.retain_as_published for one in granted),
        tuple([one.identifier for one in granted if one.identifier]),
    )
