"""What clients saw, end to end: the evidence that checkers judge, from a simulation or a live run.

Every publication carries its publisher and sequence in its payload, so that what arrives somewhere
can be held against what was sent, without trust in any broker.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import msgspec

EventKey = tuple[str, int]
Properties = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Published:
    """One publication as its publisher knows it.

    attempted_us: first handed to a connection, which led to `broker`. acknowledged_us: PUBACK or
    PUBREC came. refused: the reason code, if the broker said no. resend_count: sent again after a
    new connection.
    """

    publisher: str
    sequence: int
    topic: str
    qos: int
    properties: Properties
    attempted_us: int
    broker: str
    acknowledged_us: int | None = None
    acknowledged_by: str | None = None
    refused: int | None = None
    resend_count: int = 0


@dataclass(slots=True)
class Willed:
    """A will as its client gave it with one CONNECT, and how that connection ended.

    publisher: the client's name, marked, so that its publications and its wills count apart.
    delay_us: how long the will waits for its client, which is no longer than its session lasts.
    sent_us: CONNECT left, which ended the session of before if is_clean_start. opened_us: it was
    accepted, when keeper had the will on disk. ended_us: the client let go of the connection, or
    lost it. heard_us: its broker heard of that, of which it was not told if it ended it itself or
    died. is_taken_back: with a plain goodbye. is_abandoned: the client went elsewhere, and its
    broker could not know.
    """

    client: str
    publisher: str
    sequence: int
    topic: str
    qos: int
    properties: Properties
    delay_us: int
    broker: str
    sent_us: int
    is_clean_start: bool = False
    opened_us: int | None = None
    keeper: str | None = None
    is_refused: bool = False
    ended_us: int | None = None
    heard_us: int | None = None
    is_taken_back: bool = False
    is_abandoned: bool = False


class Outage(msgspec.Struct):
    """A time during which a broker's process did not run; no end if it never did again."""

    broker: str
    since_us: int
    until_us: int | None = None


class Abandoned(msgspec.Struct):
    """A connection of which a client let go without a word.

    until_us: its broker knew it no more, and with it a session that ends with its connection.
    """

    client: str
    since_us: int
    until_us: int | None = None


class Delivered(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One message as it reached a client; connection counts the client's connections."""

    time_us: int
    client: str
    publisher: str
    sequence: int
    topic: str
    qos: int
    is_duplicate: bool
    is_retained: bool
    connection: int
    broker: str


@dataclass(slots=True)
class Subscribed:
    """One subscription of a client, from its request to its end.

    granted_us: SUBACK came. end_requested_us: the client asked for its end, or lost its session.
    ended_us: UNSUBACK came, or the session was gone. connection_last: where a session that does not
    outlive its connection ended.
    """

    client: str
    filter_text: str
    qos: int
    requested_us: int
    granted_us: int | None = None
    end_requested_us: int | None = None
    ended_us: int | None = None
    connection_last: int | None = None


@dataclass(slots=True)
class Connected:
    """One connection of a client that a broker accepted."""

    client: str
    broker: str
    number: int
    opened_us: int
    session_present: bool
    ended_us: int | None = None


class SessionLost(NamedTuple):
    """A session that should have outlived its connection was not found again."""

    time_us: int
    client: str
    previous_broker: str
    broker: str


class Oddity(NamedTuple):
    """A packet with which a broker broke the rules of MQTT."""

    time_us: int
    client: str
    broker: str
    sentence: str


@dataclass(slots=True)
class History:
    """Everything that clients saw.

    wills: in the order in which they were given. outages: of brokers, in order of time. abandoned:
    connections, in order of time. has_losses: brokers may have lost each other, though both were
    up.
    gone_us: brokers that never return, since when. gone_sessions: clients whose sessions they had.
    gone_shared: shared subscriptions, each with a publication that they kept for it. gone_events:
    publications that they had taken and still kept, as somebody was owed them. ordered: filters of
    topics on which what one publisher sends has one order.
    """

    publications: dict[EventKey, Published] = field(default_factory=dict)
    deliveries: list[Delivered] = field(default_factory=list)
    subscriptions: list[Subscribed] = field(default_factory=list)
    connections: dict[str, list[Connected]] = field(default_factory=dict)
    sessions_lost: list[SessionLost] = field(default_factory=list)
    oddities: list[Oddity] = field(default_factory=list)
    wills: dict[EventKey, Willed] = field(default_factory=dict)
    outages: list[Outage] = field(default_factory=list)
    abandoned: list[Abandoned] = field(default_factory=list)
    has_losses: bool = False
    gone_us: dict[str, int] = field(default_factory=dict)
    gone_sessions: set[str] = field(default_factory=set)
    gone_shared: set[tuple[str, EventKey]] = field(default_factory=set)
    gone_events: set[EventKey] = field(default_factory=set)
    ordered: tuple[str, ...] = ()

    def attempted(self, publication: Published) -> None:
        """A publication was handed to a connection for the first time."""
        self.publications[publication.publisher, publication.sequence] = publication

    def published(self, event: EventKey) -> Published | None:
        """A publication, or a will as if its client had published it when it connected."""
        published = self.publications.get(event)
        if published is None and self.wills:
            will = self.wills.get(event)
            return published_will(will, will.sent_us) if will is not None else None
        return published

    def subscribing(self, client: str, filter_text: str, qos: int, now_us: int) -> Subscribed:
        """A client asks for a subscription."""
        subscription = Subscribed(client, filter_text, qos, now_us)
        self.subscriptions.append(subscription)
        return subscription

    def connected(
        self, client: str, broker: str, now_us: int, *, session_present: bool
    ) -> Connected:
        """A broker accepted a client's connection."""
        connections = self.connections.setdefault(client, [])
        connection = Connected(client, broker, len(connections) + 1, now_us, session_present)
        connections.append(connection)
        return connection

    def session_at(self, client: str, time_us: int) -> int:
        """Which of its sessions a client was in at a time."""
        connections = self.connections.get(client, ())
        return sum(not one.session_present for one in connections if one.opened_us <= time_us)

    def session_of(self, delivery: Delivered) -> int:
        """Which of its sessions a client got something in; each begins where none was found."""
        connections = self.connections.get(delivery.client, ())
        return sum(not one.session_present for one in connections[: delivery.connection])

    def acknowledged_count(self) -> int:
        """Publications that a broker took the responsibility for."""
        return sum(one.acknowledged_us is not None for one in self.publications.values())

    def digest(self) -> str:
        """The same for the same history."""
        evidence = (
            list(self.publications.values()),
            self.deliveries,
            self.subscriptions,
            list(self.connections.values()),
            self.sessions_lost,
            self.oddities,
        )
        wills = (list(self.wills.values()),) if self.wills else ()
        return hashlib.sha256(msgspec.msgpack.encode((*evidence, *wills))).hexdigest()


def published_will(will: Willed, time_us: int) -> Published:
    """A will as a publication that its keeper took at a time."""
    return Published(
        will.publisher,
        will.sequence,
        will.topic,
        will.qos,
        will.properties,
        attempted_us=time_us,
        broker=will.broker,
        acknowledged_us=time_us,
        acknowledged_by=will.keeper,
    )


def payload_of(publisher: str, sequence: int) -> bytes:
    """The payload that names a publication."""
    return f"{publisher}:{sequence}".encode()


# Every subscriber reads the same.
@lru_cache(maxsize=4_096)
def read_payload(payload: bytes) -> EventKey | None:
    """Which publication a payload names; None if it is none of ours."""
    publisher, _, sequence = payload.decode("utf-8", "replace").rpartition(":")
    return (
        (publisher, int(sequence))
        if publisher and sequence.isascii() and sequence.isdigit()
        else None
    )
