"""Where plain messages go, found once for many of them.

A host may hand plain messages to their recipients itself, without a step for each, as long as the
revision stays the same. Where the answer is None, messages go through Broker.step as any others.
"""

from __future__ import annotations

from typing import NamedTuple

from meshwright.protocol.assembly import Machines
from meshwright.protocol.foundation.turn import Journal, Turn
from meshwright.protocol.mqtt.packets import Qos1Run
from meshwright.protocol.sessions.publishing import may_be_published
from meshwright.protocol.sessions.session import Recipient, Session

NEVER = -1
# More messages than a client that waits for answers has in flight.
HELD_MAX = 100


class Shortcut(NamedTuple):
    """A publisher's session, and the clients here that get what it publishes on a topic.

    clients: with the identifiers of the subscriptions by which each gets it. leaves: other brokers
    must be told, too. until_us: when this must be asked again in any case. Everybody gets a message
    as it came: QoS 0, not retained, without other properties.
    """

    session: Session
    clients: tuple[tuple[str, tuple[int, ...]], ...]
    leaves: bool
    until_us: int


class Qos1Route(NamedTuple):
    """A publisher's session, and until when it may publish runs of QoS 1 on a topic.

    readers: who gets them, if they are safe as soon as they are here; None if a disk, or a reader
    that asks for QoS 0, makes more of it.
    """

    session: Session
    until_us: int
    readers: tuple[Session, ...] | None


class Shortcuts:
    """Answers for one life of a broker; turn: of its steps, in which alone the revision changes.

    held_back: by client, what waits for room in a queue.
    """

    __slots__ = ("_journal", "_machines", "_publishing", "held_back", "turn")

    def __init__(self, machines: Machines, journal: Journal, turn: Turn) -> None:
        self.turn = turn
        self._machines = machines
        self._publishing = machines.sessions.publishing
        self.held_back = self._publishing.held.waiting
        self._journal = journal

    @property
    def revision(self) -> int:
        """What was found holds while this is the same; NEVER if nothing may go by shortcuts."""
        machines = self._machines
        if machines.moving.has_proxies() or machines.overlays.holds_clients():
            return NEVER
        return (
            machines.sessions.change_count()
            + machines.shared_keeper.change_count
            + machines.retained_store.change_count
            + machines.outgoing.change_count
            + machines.forwarding.epoch
        )

    @property
    def written(self) -> int:
        """The last batch that went to the disk."""
        return self._journal.batch

    @property
    def synced(self) -> int:
        """The last batch that is on disk, with all that waited for it done."""
        return self._journal.synced_batch

    @property
    def disk_is_full(self) -> bool:
        """True while nothing is promised, as it could not be kept."""
        return self._publishing.disk_is_full

    def session(self, client: str) -> Session | None:
        """The session of a client that is connected here."""
        session = self._machines.sessions.find(client)
        return session if session is not None and session.is_connected else None

    def is_held_back(self, client: str) -> bool:
        """True if so much of a client waits for room that it had better be read later."""
        held = self.held_back.get(client)
        return held is not None and len(held.packets) >= HELD_MAX

    def is_crowded(self, topic: str) -> bool:
        """True if a client that publishes on a topic had better be read later."""
        return self._machines.retained_store.is_crowded(topic)

    def find(self, now_us: int, client: str, topic: str) -> Shortcut | None:
        """Where messages of a client on a topic go; None if that is not simple."""
        machines = self._machines
        session = machines.sessions.find(client)
        if session is None or not session.is_connected or session.is_leaving:
            return None
        if client in self.held_back:
            return None
        until_us = machines.outgoing.open_until_us(topic)
        if until_us < now_us or machines.retained_store.waits_on(topic):
            return None
        if machines.shared_keeper.takes(topic) or not may_be_published(topic):
            return None
        recipients = machines.sessions.recipients_of(session.identity, topic)
        if recipients is None:
            return None
        connected = [one for one in recipients if one.session.is_connected]
        clients = tuple((one.session.client, one.identifiers) for one in connected)
        has_others = len(machines.overlays.change.in_force.overlay.brokers) > 1
        if has_others and machines.outgoing.ordering.takes(topic):
            # Others get it in its order, and so by the whole way, unless nobody wants it there.
            if session.points or not machines.stays_here(now_us, topic):
                return None
            has_others = False
        return Shortcut(session, clients, has_others, until_us)

    def find_qos1(self, now_us: int, client: str, topic: str) -> Qos1Route | None:
        """Whether messages of QoS 1 of a client on a topic may be published in runs."""
        machines = self._machines
        session = machines.sessions.find(client)
        if session is None or not session.is_connected or session.is_leaving:
            return None
        if session.points or not may_be_published(topic):
            return None
        if client in self.held_back:
            return None
        if machines.retained_store.waits_on(topic):
            return None
        recipients = machines.sessions.recipients_of(session.identity, topic)
        if recipients is None or not machines.stays_here(now_us, topic):
            return None
        if not _take_runs(recipients):
            return None
        until_us = machines.outgoing.open_until_us(topic)
        return Qos1Route(session, until_us, self._readers(session, recipients))

    def refuses_runs(self, client: str, topic: str) -> bool:
        """True if a topic takes no runs of QoS 1, nor will at the same revision.

        They leave this broker, or its readers do not take them.
        """
        session = self._machines.sessions.find(client)
        if session is None:
            return False
        if self._machines.leaves_here(topic):
            return True
        recipients = self._machines.sessions.recipients_of(session.identity, topic)
        return recipients is not None and not _take_runs(recipients)

    def publish_now(self, route: Qos1Route, run: Qos1Run) -> list[int] | None:
        """Take a run in the name of the core; the first packet identifier that each reader gets.

        None if something is in the way: then it has to go as a packet to the core.
        """
        session, _, readers = route
        if readers is None or self._journal.waiting or self._publishing.disk_is_full:
            return None
        firsts: list[int] = []
        count, size_bytes = run.count, len(run.packets) // run.count
        for reader in readers:
            first = reader.takes_run(count, size_bytes) and reader.free_packet_ids(count)
            if not first:
                return None
            firsts.append(first)
        for reader, first in zip(readers, firsts, strict=True):
            reader.sends_run(run, session.identity, session.sequence + 1, first)
        session.sequence += run.count
        return firsts

    def publish_alone(self, session: Session, reader: Session, run: Qos1Run) -> int:
        """Like publish_now, for a run of one and its only reader; 0 if something is in the way."""
        if self._journal.waiting or self._publishing.disk_is_full:
            return 0
        sequence = session.sequence + 1
        packet_id = reader.sends_alone(run, session.identity, sequence)
        if packet_id:
            session.sequence = sequence
        return packet_id

    def _readers(
        self, session: Session, recipients: tuple[Recipient, ...]
    ) -> tuple[Session, ...] | None:
        if session.is_durable or self._publishing.writes_runs:
            return None
        connected = [one for one in recipients if one.session.is_connected]
        if not all(one.qos for one in connected):
            return None
        return tuple(one.session for one in connected)


def _take_runs(recipients: tuple[Recipient, ...]) -> bool:
    return not any(one.session.is_durable or one.identifiers for one in recipients)
