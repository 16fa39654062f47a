"""What goes out through a session: its queue, messages in flight, and the client's answers.

A message for a session that outlives its connection is on disk before its stream is acknowledged,
and leaves the disk when the client has answered. A message that expires before it was first sent is
dropped and reported. The broker where it entered set its expiry, so clocks that differ by a second
move it by a second.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from meshwright.model.publication import Publication
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.dispatch import Row, Take, on
from meshwright.protocol.foundation.effects import SendClient
from meshwright.protocol.foundation.rights import NOT_ALLOWED, Rights
from meshwright.protocol.foundation.stream_frames import EVERY_TOPIC, StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.qos1_runs import SentRun, numbers, qos0
from meshwright.protocol.sessions.queue_bounds import QUEUE_IS_FULL, QueueBounds
from meshwright.protocol.sessions.session import Hand, Recipient, Session, Waiting
from meshwright.protocol.sessions.session_disk import keys_of_sent
from meshwright.protocol.sessions.session_groups import SessionGroups


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A publication was not taken from a client, not queued for it, or dropped, and why."""

    client: str
    publisher: str
    sequence: int
    topic: str
    reason: str


class Deliveries:
    """Hands over to clients what waits for them."""

    def __init__(
        self,
        bounds: QueueBounds,
        shared: SessionGroups,
        *,
        rights: Rights | None,
        misbehaved: Callable[[Turn, Session, str], None],
    ) -> None:
        self._rights = rights
        self._bounds = bounds
        self._shared = shared
        self._misbehaved = misbehaved

    def handlers(self) -> tuple[Row[Take[Session]], ...]:
        """Which packet of a client is for which method."""
        return (
            on(packets.Puback, self._puback),
            on(packets.PubackRun, self._settle_run),
            on(packets.Pubrec, self._pubrec),
            on(packets.Pubcomp, self._pubcomp),
        )

    def deliver(
        self,
        turn: Turn,
        frame: StreamFrame,
        recipients: tuple[Recipient, ...],
        hand: Hand | None = None,
        *,
        is_kept: bool = False,
    ) -> bool:
        """Send a publication to clients, or queue it; True if a durable session's disk has changed.

        hand: of which shared subscription it is, if of any. is_kept: even if the queue is full.
        """
        publication, origin, number = frame.publication, frame.origin, frame.number
        stream, others = (origin, publication.topic), (origin, EVERY_TOPIC)
        is_late = publication.expires_us is not None and is_too_late(publication, turn.now_us)
        counts, drops = False, self._bounds.drops and not is_kept
        for session, qos_max, retains, identifiers in recipients:
            passed = session.passed_before
            # A stream is named only if it was passed further than the rest of its origin's.
            if passed and number and number <= (passed.get(stream) or passed.get(others, 0)):
                continue
            qos = min(publication.qos, qos_max)
            packet_id = session.packet_id_at_once() if qos and not is_late else 0
            waiting = Waiting(
                session.next_index,
                publication,
                qos,
                publication.retain and retains,
                identifiers,
                origin,
                number,
                hand,
                packet_id,
            )
            if is_late:
                self._refuse(turn, session, waiting, "it has expired")
            elif not qos:
                self._send_qos0(turn, session, waiting)
                counts = counts or session.is_durable
            elif not packet_id and drops and self._bounds.is_over(session):
                self._refuse(turn, session, waiting, QUEUE_IS_FULL)
            else:
                session.next_index += 1
                if session.is_durable:
                    counts = True
                    turn.write(("queue", session.client, waiting.index), waiting)
                    if hand is not None:
                        self._shared.mark(turn, waiting)
                if packet_id:
                    self._send(turn, session, waiting, packet_id)
                else:
                    session.queue.append(waiting)
                    self._bounds.queued(turn, session)
        return counts

    def may_read(self, session: Session, topic: str) -> bool:
        """True if a client may get messages of a topic."""
        return self._rights is None or self._rights.may_read(session.client, topic)

    def hand(
        self, turn: Turn, recipient: Recipient, publication: Publication, hand: Hand | None
    ) -> None:
        """Give a message of a shared subscription to the client that it was handed to."""
        session = recipient.session
        if self.may_read(session, publication.topic):
            self.deliver(turn, StreamFrame("", 0, publication), (recipient,), hand)
            return
        waiting = Waiting(session.next_index, publication, 0, False, (), hand=hand)
        self._refuse(turn, session, waiting, NOT_ALLOWED)

    def withhold(self, turn: Turn, session: Session) -> None:
        """Drop what is still to be sent to a client that may not read it any more."""
        if self._rights is None:
            return
        for packet_id in list(session.unsent):
            waiting = session.in_flight[packet_id]
            if not self.may_read(session, waiting.publication.topic):
                del session.unsent[packet_id], session.in_flight[packet_id]
                if session.is_durable:
                    for key in keys_of_sent(session.client, packet_id, waiting):
                        turn.delete(key)
                self._refuse(turn, session, waiting, NOT_ALLOWED)
        kept = []
        for waiting in session.queue:
            if self.may_read(session, waiting.publication.topic):
                kept.append(waiting)
            else:
                self._drop(turn, session, waiting, NOT_ALLOWED)
        if len(kept) < len(session.queue):
            session.queue.replace(kept)
            self._bounds.drained(turn, session)

    def has_room(self, session: Session) -> bool:
        """True if more may wait for a client."""
        return not self._bounds.is_over(session)

    def refuse_look(self, turn: Turn, session: Session, publication: Publication) -> None:
        """Tell of a retained message that a client asked for while its queue was full."""
        turn.report(refusal(session.client, publication, QUEUE_IS_FULL))

    def takes_run(self, recipient: Recipient, run: packets.Qos1Run) -> bool:
        """True if a run of QoS 1 may be sent to a client now as one."""
        session, qos_max, _, identifiers = recipient
        if session.is_durable or not session.is_connected:
            return not session.is_durable
        count, size_bytes = (run.count, len(run.packets) // run.count) if qos_max else (0, 0)
        return not identifiers and session.takes_run(count, size_bytes)

    def send_run(self, turn: Turn, recipient: Recipient, sent: SentRun) -> bool:
        """Send a run to a client that takes it; False if it has no packet identifiers for it."""
        session, qos_max = recipient.session, recipient.qos
        run = sent.run
        if not session.is_connected:
            return True
        if not qos_max:
            plain = packets.PublishRun(run.topic, qos0(run), run.count)
            send_once_synced(turn, session, plain)
            return True
        first = session.free_packet_ids(run.count)
        if not first:
            return False
        session.sends_run(run, sent.publisher, sent.sequence, first)
        send_once_synced(turn, session, packets.DeliverQos1Run(run, first))
        return True

    def hand_over(self, turn: Turn, session: Session) -> None:
        """Send unsent messages in flight, then queued ones, as far as the client's window goes."""
        while session.unsent and session.has_window():
            packet_id = next(iter(session.unsent))
            del session.unsent[packet_id]
            waiting = session.in_flight[packet_id]
            session.sent_bytes += waiting.size_bytes()
            packet = _publish_packet(waiting, packet_id, turn.now_us, is_duplicate=True)
            send_packet(turn, session, packet)
        while session.queue and session.has_window():
            waiting = session.queue.popleft()
            if is_too_late(waiting.publication, turn.now_us):
                self._drop(turn, session, waiting, "it has expired")
            else:
                packet_id = session.free_packet_id()
                if session.is_durable:
                    key = ("under_way", session.client, packet_id)
                    turn.write(key, (waiting.index, False))
                self._send(turn, session, waiting, packet_id)
        self._bounds.drained(turn, session)

    def resume(self, turn: Turn, session: Session) -> None:
        """On a new connection: send messages in flight again, however old, then queued ones."""
        session.sent_bytes = 0
        unreleased = [one for one in session.in_flight if one not in session.released]
        session.unsent = dict.fromkeys(unreleased)
        for packet_id in session.in_flight:
            if packet_id in session.released:
                send_packet(turn, session, packets.Pubrel(packet_id))
        self.withhold(turn, session)
        self.hand_over(turn, session)

    def _send_qos0(self, turn: Turn, session: Session, waiting: Waiting) -> None:
        send_once_synced(turn, session, _publish_packet(waiting, 0, turn.now_us))
        if waiting.hand is not None:
            self._shared.settled(turn, waiting)

    def _send(self, turn: Turn, session: Session, waiting: Waiting, packet_id: int) -> None:
        """Send a message for the first time, once its packet identifier is on disk."""
        session.in_flight[packet_id] = waiting
        session.sent_bytes += waiting.size_bytes()
        if waiting.qos == 2 and not session.is_durable:
            self._shared.mark(turn, waiting)
        send_once_synced(turn, session, _publish_packet(waiting, packet_id, turn.now_us))

    def _drop(self, turn: Turn, session: Session, waiting: Waiting, reason: str) -> None:
        if session.is_durable:
            turn.write(("queue", session.client, waiting.index), None)
        self._refuse(turn, session, waiting, reason)

    def _refuse(self, turn: Turn, session: Session, waiting: Waiting, reason: str) -> None:
        turn.report(refusal(session.client, waiting.publication, reason))
        self._shared.settled(turn, waiting)

    def _puback(self, turn: Turn, session: Session, packet: packets.Puback) -> None:
        waiting = session.in_flight.get(packet.packet_id)
        if (waiting is not None and waiting.qos == 1) or self._answers(
            turn, session, packet.packet_id, qos=1
        ):
            self._settle(turn, session, packet)

    def _pubcomp(self, turn: Turn, session: Session, packet: packets.Pubcomp) -> None:
        if not self._answers(turn, session, packet.packet_id, qos=2):
            return
        if packet.packet_id in session.in_flight and packet.packet_id not in session.released:
            # Perhaps a late answer to an older message that had this identifier.
            problem = f"message {packet.packet_id} was completed before it was received"
            self._misbehaved(turn, session, problem)
            return
        self._settle(turn, session, packet)

    def _answers(self, turn: Turn, session: Session, packet_id: int, *, qos: int) -> bool:
        """Whether an answer fits its message's QoS; if not, the client is disconnected."""
        waiting = session.in_flight.get(packet_id)
        sent_qos = qos if waiting is None else waiting.qos
        if packet_id in session.sent_runs:
            sent_qos = 1
        if sent_qos == qos:
            return True
        problem = f"message {packet_id} has QoS {sent_qos} and was answered as QoS {qos}"
        self._misbehaved(turn, session, problem)
        return False

    def _pubrec(self, turn: Turn, session: Session, packet: packets.Pubrec) -> None:
        if not self._answers(turn, session, packet.packet_id, qos=2):
            return
        waiting = session.in_flight.get(packet.packet_id)
        if packet.reason >= packets.UNSPECIFIED_ERROR:
            self._settle(turn, session, packet)
            return
        if waiting is not None and packet.packet_id not in session.released:
            if session.unsent.pop(packet.packet_id, self) is not None:
                session.sent_bytes -= waiting.size_bytes()
            session.released[packet.packet_id] = None
            if session.is_durable:
                key = ("under_way", session.client, packet.packet_id)
                turn.write(key, (waiting.index, True))
        reason = packets.SUCCESS if waiting is not None else packets.PACKET_IDENTIFIER_NOT_FOUND
        release = packets.Pubrel(packet.packet_id, reason)
        send_once_synced(turn, session, release)

    def _settle_run(self, turn: Turn, session: Session, packet: packets.PubackRun) -> None:
        """The client has messages, most of which were sent in runs."""
        for packet_id in session.settle_runs(numbers(packet.packet_ids)):
            self._puback(turn, session, packets.Puback(packet_id))
        if session.queue or session.unsent:
            self.hand_over(turn, session)

    def _settle(
        self,
        turn: Turn,
        session: Session,
        packet: packets.Puback | packets.Pubrec | packets.Pubcomp,
    ) -> None:
        """The client has got a message, or refused it for good: forget it."""
        packet_id = packet.packet_id
        waiting = session.in_flight.pop(packet_id, None)
        if waiting is None:
            session.sent_runs.pop(packet_id, None)
        else:
            was_unsent = session.unsent and session.unsent.pop(packet_id, self) is None
            was_released = session.released and session.released.pop(packet_id, self) is None
            if not (was_unsent or was_released):
                session.sent_bytes -= waiting.size_bytes()
            if packet.reason >= packets.UNSPECIFIED_ERROR and not was_released:
                problem = f"the client cannot take it: reason code 0x{packet.reason:02X}"
                turn.report(refusal(session.client, waiting.publication, problem))
            keys = keys_of_sent(session.client, packet_id, waiting) if session.is_durable else ()
            if waiting.hand is None:
                turn.forgotten += keys
            else:
                # The keeper of the group relies on this, so it must be on disk.
                for key in keys:
                    turn.delete(key)
                self._shared.settled(turn, waiting)
        if session.queue or session.unsent:
            self.hand_over(turn, session)


def on_this_connection(session: Session, packet: object) -> Action:
    """An action that sends a packet on the present connection, and not on any later one."""
    connection = session.connection

    def send(turn: Turn) -> None:
        if session.connection == connection and session.is_connected:
            turn.effects.append(SendClient(session.client, packet))

    return send


class _Sends(list[tuple[Session, int, object]]):
    """Packets for clients, each with the connection on which it is to be sent."""

    __slots__ = ()

    def __call__(self, turn: Turn) -> None:
        effects = turn.effects
        for session, connection, packet in self:
            if session.connection == connection and session.is_connected:
                effects.append(SendClient(session.client, packet))


def send_once_synced(turn: Turn, session: Session, packet: object) -> None:
    """Send a packet once all written so far is synced; cheaper than on_this_connection for many."""
    actions = turn.once_synced_actions
    last = actions[-1] if actions else None
    if type(last) is not _Sends:
        last = _Sends()
        actions.append(last)
    last.append((session, session.connection, packet))


def send_packet(turn: Turn, session: Session, packet: object) -> None:
    """Send a packet, if the client is connected."""
    if session.is_connected:
        turn.ask(SendClient(session.client, packet))


def is_too_late(publication: Publication, now_us: int) -> bool:
    """True if a message has expired."""
    return publication.expires_us is not None and publication.expires_us <= now_us


def _publish_packet(
    waiting: Waiting, packet_id: int, now_us: int, *, is_duplicate: bool = False
) -> packets.Publish | packets.PublishRun:
    publication = waiting.publication
    if publication.count > 1:
        return packets.PublishRun(publication.topic, publication.payload, publication.count)
    remaining_s = None
    if publication.expires_us is not None:
        # Rounded up: 0 would say that it has expired.
        remaining_s = max(1, -((now_us - publication.expires_us) // SECOND_US))
    return packets.Publish(
        publication.topic,
        publication.payload,
        waiting.qos,
        waiting.retain,
        packet_id,
        is_duplicate,
        publication.properties,
        remaining_s,
        waiting.subscription_ids,
        publication.extras,
    )


def refusal(client: str, publication: Publication, reason: str) -> Refused:
    """The record of a publication that a client did not get, or that was not taken from it."""
    return Refused(
        client=client,
        publisher=publication.publisher,
        sequence=publication.sequence,
        topic=publication.topic,
        reason=reason,
    )
