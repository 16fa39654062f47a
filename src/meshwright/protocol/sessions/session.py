"""One client's session: its subscriptions, its queue, and what is in flight to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

import msgspec

from meshwright.model.publication import Publication, StreamPoint
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.mqtt.packets import MQTT_5, Qos1Run, Subscription, Will
from meshwright.protocol.mqtt.qos1_runs import PACKET_ID_MAX, SentRun

# As many as there are packet identifiers.
RECEIVE_MAXIMUM = PACKET_ID_MAX
# More than there will ever be.
UNLIMITED = 1 << 62


class Phase(Enum):
    """Where a session's client is, and the session itself."""

    ARRIVING = "it collects here, but its client's former broker still has it"
    DISCONNECTED = "its client has no connection here"
    CONNECTING = "its client is here, and CONNACK waits for the disk"
    CONNECTED = "CONNACK was sent"
    LEAVING = "it was sent elsewhere, and is kept until it has arrived there"


PHASES = Transitions(
    {
        Phase.ARRIVING: (Phase.DISCONNECTED,),
        Phase.DISCONNECTED: (Phase.CONNECTING, Phase.LEAVING),
        Phase.CONNECTING: (Phase.CONNECTED, Phase.DISCONNECTED),
        Phase.CONNECTED: (Phase.DISCONNECTED,),
        Phase.LEAVING: (Phase.DISCONNECTED,),
    }
)
# Looked at for each message.
CONNECTED = Phase.CONNECTED

# A shared subscription, and the number under which its keeper handed a message to a member.
Hand = tuple[str, int]


class Waiting(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A publication for a client: its place in the queue, and how it is to be handed over.

    origin and number: where it stands in its stream. hand: of which shared subscription it is, and
    the number under which its keeper handed it. packet_id: under which it was sent at once; 0 if it
    had to wait.
    """

    index: int
    publication: Publication
    qos: int
    retain: bool
    subscription_ids: tuple[int, ...]
    origin: str = ""
    number: int = 0
    hand: Hand | None = None
    packet_id: int = 0

    def size_bytes(self) -> int:
        """About how many bytes it has."""
        publication = self.publication
        size = len(publication.topic) + len(publication.payload)
        for name, value in publication.properties:
            size += len(name) + len(value)
        return size


class QueueTally:
    """Queues of several sessions together: how many there are, and how many bytes wait in them."""

    __slots__ = ("byte_count", "session_count")

    def __init__(self) -> None:
        self.session_count = 0
        self.byte_count = 0


class MessageQueue(deque[Waiting]):
    """What waits for a client, in order; byte_count: how many bytes that is."""

    __slots__ = ("_tallies", "byte_count")

    def __init__(self) -> None:
        super().__init__()
        self.byte_count = 0
        self._tallies: list[QueueTally] = []

    def count_in(self, tallies: list[QueueTally]) -> None:
        """Be counted in these, and in no others any more."""
        for tally in self._tallies:
            tally.session_count -= 1
            tally.byte_count -= self.byte_count
        self._tallies = tallies
        for tally in tallies:
            tally.session_count += 1
            tally.byte_count += self.byte_count

    def append(self, waiting: Waiting) -> None:
        self._add(waiting.size_bytes())
        super().append(waiting)

    def popleft(self) -> Waiting:
        waiting = super().popleft()
        self._add(-waiting.size_bytes())
        return waiting

    def extend(self, messages: Iterable[Waiting]) -> None:
        for waiting in messages:
            self.append(waiting)

    def clear(self) -> None:
        self._add(-self.byte_count)
        super().clear()

    def replace(self, messages: Iterable[Waiting]) -> None:
        """Have these wait, and nothing else."""
        self.clear()
        self.extend(messages)

    def _add(self, size_bytes: int) -> None:
        self.byte_count += size_bytes
        for tally in self._tallies:
            tally.byte_count += size_bytes


class Session:
    """All that a broker remembers of one client.

    connection counts the client's connections here. identity names the publisher of all that enters
    through this session. disconnected_us: since when it has no connection. awaited_until_us: so
    long its client waits for it at another broker, 0 if nothing is known of that. is_durable: it is
    kept on disk, as it outlives its connection, or did before. queue: what waits. in_flight: by
    packet identifier, what was sent and is not settled, in the order of sending; unsent holds those
    that were not yet sent again on this connection, released those of QoS 2 whose message the
    client has. received: packet identifiers of QoS 2 messages from the client that it has not
    released. passed_before, points and visits: what former brokers left, as in SessionState.
    version: of MQTT, as its client speaks it. claim: a number as high as any with which a broker
    claimed the client for this session. window_bytes: once so much is in flight, nothing more is
    sent. sent_bytes: of what was sent on this connection but for runs, and the client has not said
    that it has it. sent_runs: like in_flight, what was sent in runs, which only a session has that
    ends with its connection. run_bytes: the largest message of them has no more, so that run_window
    of them, but at least one, keep within window_bytes. unsafe_run_count: its own publications in
    runs that are on their way to the disk.
    """

    __slots__ = (
        "awaited_until_us",
        "claim",
        "client",
        "connection",
        "disconnected_us",
        "expiry_s",
        "identity",
        "in_flight",
        "is_durable",
        "next_index",
        "next_packet_id",
        "passed_before",
        "phase",
        "points",
        "queue",
        "receive_maximum",
        "received",
        "released",
        "run_bytes",
        "run_window",
        "sent_bytes",
        "sent_runs",
        "sequence",
        "subscriptions",
        "unsafe_run_count",
        "unsent",
        "version",
        "visits",
        "will",
        "window_bytes",
    )  # fmt: skip

    def __init__(self, client: str, identity: str, phase: Phase = Phase.DISCONNECTED) -> None:
        self.client = client
        self.identity = identity
        self.phase = phase
        self.sequence = 0
        self.expiry_s = 0
        self.version = MQTT_5
        self.receive_maximum = RECEIVE_MAXIMUM
        self.window_bytes = UNLIMITED
        self.sent_bytes = 0
        self.connection = 0
        self.disconnected_us: int | None = None
        self.awaited_until_us = 0
        self.is_durable = False
        self.will: Will | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.queue = MessageQueue()
        self.in_flight: dict[int, Waiting] = {}
        self.unsent: dict[int, None] = {}
        self.released: dict[int, None] = {}
        self.received: dict[int, None] = {}
        self.next_index = 0
        self.next_packet_id = 0
        self.passed_before: dict[tuple[str, str], int] = {}
        self.points: dict[str, tuple[StreamPoint, ...]] = {}
        self.visits: tuple[str, ...] = ()
        self.claim = 0
        self.sent_runs: dict[int, SentRun] = {}
        self.run_bytes = 0
        self.run_window = 0
        self.unsafe_run_count = 0

    def become(self, phase: Phase) -> None:
        """Another phase begins."""
        self.phase = PHASES.checked(self.phase, phase)

    @property
    def is_connected(self) -> bool:
        """True if its client has got CONNACK here."""
        return self.phase is CONNECTED

    @property
    def is_away(self) -> bool:
        """True if its client has no connection here; one whose session arrives may have."""
        return self.phase in (Phase.DISCONNECTED, Phase.LEAVING)

    @property
    def is_arriving(self) -> bool:
        """True if it is not this broker's yet."""
        return self.phase is Phase.ARRIVING

    @property
    def is_leaving(self) -> bool:
        """True if it may be another broker's already."""
        return self.phase is Phase.LEAVING

    @property
    def waiting_count(self) -> int:
        """How many messages wait for the client, or were sent and are not answered."""
        return len(self.queue) + len(self.in_flight) + len(self.sent_runs)

    def last_for(self, expiry_s: int) -> None:
        """Outlive the connection by this time from now on; once on disk, a session stays there."""
        self.expiry_s = expiry_s
        self.is_durable = self.is_durable or expiry_s > 0

    def open_window(self, receive_maximum: int, window_bytes: int) -> None:
        """Set how much may be in flight on the connection that begins."""
        self.receive_maximum = receive_maximum
        self.window_bytes = window_bytes
        self.run_bytes = self.run_window = 0

    def publishes(self, count: int) -> None:
        """Count messages of QoS 0 of its client that were handed on without a step."""
        self.sequence += count

    def has_sent(self, publication: Publication) -> bool:
        """True if its client published it, in this session or in one before."""
        return publication.client == self.client

    def packet_id_at_once(self) -> int:
        """A packet identifier for a message that need not wait; 0 if it has to."""
        if self.queue or not self.has_window():
            return 0
        number = self.next_packet_id = self.next_packet_id % 65_535 + 1
        if number in self.in_flight or number in self.sent_runs:
            return self.free_packet_id()
        return number

    def free_packet_id(self) -> int:
        """A packet identifier that is not in use."""
        while True:
            self.next_packet_id = self.next_packet_id % 65_535 + 1
            number = self.next_packet_id
            if number not in self.in_flight and number not in self.sent_runs:
                return number

    def free_packet_ids(self, count: int) -> int:
        """The first of so many consecutive packet identifiers not in use; 0 if there are none."""
        first = self.next_packet_id + 1
        if first + count > PACKET_ID_MAX:
            first = 1
        if count == 1 and first not in self.sent_runs and first not in self.in_flight:
            self.next_packet_id = first
            return first
        wanted = range(first, first + count)
        if not (
            self.in_flight.keys().isdisjoint(wanted) and self.sent_runs.keys().isdisjoint(wanted)
        ):
            return 0
        self.next_packet_id = first + count - 1
        return first

    def takes_run(self, count: int, size_bytes: int) -> bool:
        """True if so many messages of QoS 1 can be sent in a row now, with nothing before them.

        size_bytes: of each of them.
        """
        if self.queue or self.unsent or self.passed_before:
            return False
        run_count = len(self.sent_runs) + count
        sent_count = len(self.in_flight) + run_count
        if sent_count > self.receive_maximum:
            return False
        largest = max(size_bytes, self.run_bytes) if self.sent_runs else size_bytes
        return sent_count <= 1 or self.sent_bytes + run_count * largest <= self.window_bytes

    def sends_run(self, run: Qos1Run, publisher: str, sequence: int, packet_id: int) -> None:
        """Count a run as in flight, under consecutive packet identifiers."""
        size_bytes = len(run.packets) // run.count
        if size_bytes > self.run_bytes or not self.sent_runs:
            self.run_bytes = size_bytes
            self.run_window = max(1, min(self.receive_maximum, self.window_bytes // size_bytes))
        sent = SentRun(run, publisher, sequence, packet_id, self.next_index)
        self.next_index += run.count
        if run.count == 1:
            self.sent_runs[packet_id] = sent
        else:
            self.sent_runs.update(dict.fromkeys(range(packet_id, packet_id + run.count), sent))

    def sends_alone(self, run: Qos1Run, publisher: str, sequence: int) -> int:
        """Count a run of one as in flight; its packet identifier, or 0 if more must be done."""
        sent_runs, packet_id = self.sent_runs, self.next_packet_id % PACKET_ID_MAX + 1
        if (
            self.queue
            or self.unsent
            or self.passed_before
            or self.in_flight
            or packet_id in sent_runs
            or len(sent_runs) >= self.run_window
            or len(run.packets) > self.run_bytes
        ):
            return 0
        sent_runs[packet_id] = SentRun(run, publisher, sequence, packet_id, self.next_index)
        self.next_packet_id = packet_id
        self.next_index += 1
        return packet_id

    def settles_alone(self, packet_id: int) -> bool:
        """The client has acknowledged a message; False if more must be done than to count it."""
        if self.queue or self.unsent:
            return False
        return self.sent_runs.pop(packet_id, None) is not None

    def settle_runs(self, packet_ids: list[int]) -> list[int]:
        """The client has messages; returns those that were sent in no run."""
        sent_runs = self.sent_runs
        return [number for number in packet_ids if sent_runs.pop(number, None) is None]

    def lay_open(self) -> None:
        """Make single messages of the runs in flight, in the order of sending."""
        laid_open = {
            number: Waiting(
                sent.index + number - sent.packet_id, sent.publication(number), 1, False, ()
            )
            for number, sent in self.sent_runs.items()
        }
        self.sent_runs = {}
        self.sent_bytes += sum([one.size_bytes() for one in laid_open.values()])
        if laid_open:
            together = {**self.in_flight, **laid_open}
            self.in_flight = dict(sorted(together.items(), key=lambda item: item[1].index))

    def let_go(self) -> None:
        """The session is over: drop its messages, as others may still refer to it for a while."""
        self.queue.clear()
        self.in_flight.clear()
        self.sent_runs.clear()

    def has_window(self) -> bool:
        """True if the client takes one more message now."""
        run_count = len(self.sent_runs)
        sent_count = len(self.in_flight) - len(self.unsent) + run_count
        if self.phase is not CONNECTED or sent_count >= self.receive_maximum:
            return False
        return not sent_count or self.sent_bytes + run_count * self.run_bytes < self.window_bytes


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
