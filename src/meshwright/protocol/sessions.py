"""The sessions of a broker: packets in, packets out, and what of it is on disk.

A QoS 1 or 2 message of a client is answered when its stream has it on disk. What waits for a client
whose session outlives its connection is on disk before the stream is acknowledged, and leaves it
when the client has answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from meshwright.errors import FilterError
from meshwright.filters.filter import Filter, parse_filter
from meshwright.filters.index import FilterIndex
from meshwright.filters.topics import check_topic_name
from meshwright.model.publication import Publication, StreamPoint
from meshwright.protocol import packets
from meshwright.protocol.belongings import ARRIVAL_PLACE, Belongings, unpack, write_moved
from meshwright.protocol.effects import CloseClient, DiskKey, SendClient
from meshwright.protocol.session import Session, Waiting
from meshwright.protocol.session_disk import restored_sessions
from meshwright.protocol.stream import StreamFrame
from meshwright.protocol.turn import Action, Turn


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much may wait for one client, and how much this broker keeps for the network."""

    queue_max: int = 100_000
    log_max: int = 1_000_000


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A publication was not queued for a client, and why."""

    client: str
    publisher: str
    sequence: int
    topic: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What sessions ask of the rest of the broker."""

    publish: Callable[[Turn, Publication, Action], Any]
    publish_unpromised: Callable[[Turn, Publication], None]
    want: Callable[[Turn, Filter, Action], None]
    when_in_force: Callable[[Turn, Filter, Action], None]
    unwant: Callable[[Turn, Filter], None]
    remember: Callable[[Turn, str], None]
    log_length: Callable[[], int]


class Sessions:
    """All sessions of one broker."""

    def __init__(
        self, me: str, incarnation: int, settings: SessionSettings, outside: Outside
    ) -> None:
        self._me = me
        self._incarnation = incarnation
        self._settings = settings
        self._outside = outside
        self._sessions: dict[str, Session] = {}
        self._index: FilterIndex[str] = FilterIndex()
        self._serial = 0
        self.disk_is_full = False
        self._answers: dict[type, Callable[[Turn, Session, Any], None]] = {
            packets.Publish: self._publish,
            packets.Pubrel: self._pubrel,
            packets.Puback: self._puback,
            packets.Pubrec: self._pubrec,
            packets.Pubcomp: self._pubcomp,
            packets.Subscribe: self._subscribe,
            packets.Unsubscribe: self._unsubscribe,
        }

    def restore(self, disk: dict[DiskKey, Any]) -> list[Filter]:
        """Take back sessions that outlive a crash; returns all filters that they want."""
        self._sessions = restored_sessions(disk)
        filters = []
        for session in self._sessions.values():
            for text in session.subscriptions:
                wanted = parse_filter(text)
                self._index.add(session.client, wanted)
                filters.append(wanted.ungrouped())
        return filters

    def publish_wills(self, turn: Turn) -> None:
        """After a crash: nobody who was connected said goodbye."""
        for session in self._sessions.values():
            if session.will is not None:
                self._publish_will(turn, session)
                session.will = None
                turn.write(("session", session.client), (session.identity, session.expiry_s, None))

    def connect(self, turn: Turn, client: str, packet: packets.Connect) -> None:
        """A client is here: open its session, or resume it and hand over what waits."""
        session = self._sessions.get(client)
        if session is not None and packet.clean_start:
            self.end(turn, session)
            session = None
        is_present = session is not None
        if session is None:
            self._serial += 1
            identity = f"{client}@{self._me}.{self._incarnation}.{self._serial}"
            session = self._sessions[client] = Session(client, identity)
        # Nothing may be sent before CONNACK, nor on an earlier connection any more.
        session.is_connected = False
        session.connection += 1
        session.expiry_s = packet.session_expiry_s
        session.receive_maximum = packet.receive_maximum
        session.will = packet.will
        if session.is_durable:
            turn.write(("session", client), (session.identity, session.expiry_s, session.will))
        connection = session.connection

        def connected(later: Turn) -> None:
            if session.connection == connection:
                self._connected(later, session, is_present=is_present)

        turn.once_synced(connected)

    def disconnect(self, turn: Turn, client: str, *, clean: bool) -> None:
        """A client's connection is gone; a session that does not outlive it ends."""
        session = self._sessions.get(client)
        if session is None:
            return
        session.is_connected = False
        session.connection += 1
        if session.will is not None and not clean:
            self._publish_will(turn, session)
        session.will = None
        if session.is_durable:
            turn.write(("session", client), (session.identity, session.expiry_s, None))
        else:
            self.end(turn, session)

    def find(self, client: str) -> Session | None:
        """The session of a client here, one that is only arriving included."""
        return self._sessions.get(client)

    def take_over(self, turn: Turn, session: Session) -> None:
        """The client is elsewhere: close what connection it has here."""
        if session.is_connected:
            self._send(turn, session, packets.Disconnect(packets.SESSION_TAKEN_OVER))
            turn.ask(CloseClient(session.client))
            session.is_connected = False
            session.connection += 1

    def prepare(
        self,
        turn: Turn,
        client: str,
        identity: str,
        subscriptions: tuple[packets.Subscription, ...],
        done: Action,
    ) -> None:
        """Collect here for a client whose session arrives; done when its filters are in force."""
        stale = self._sessions.get(client)
        if stale is not None:
            self.end(turn, stale)
        session = self._sessions[client] = Session(client, identity)
        session.is_arriving = True
        session.next_index = ARRIVAL_PLACE
        remaining = 1

        def one_done(later: Turn) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining and self._sessions.get(client) is session:
                done(later)

        for subscription in subscriptions:
            remaining += 1
            wanted = parse_filter(subscription.filter_text)
            self._add_subscription(turn, session, wanted, subscription, one_done)
        one_done(turn)

    def unpack(self, turn: Turn, client: str, belongings: Belongings) -> None:
        """The rest of an arriving session is here: from now on it is this broker's."""
        session = self._sessions[client]
        session.is_arriving = False
        unpack(turn, session, belongings)
        if session.is_durable:
            for text in session.subscriptions:
                self._outside.remember(turn, parse_filter(text).topic_filter)

    def packet(self, turn: Turn, client: str, packet: Any) -> None:
        """A packet of a connected client."""
        session = self._sessions.get(client)
        if session is not None:
            self._answers[type(packet)](turn, session, packet)

    def end(self, turn: Turn, session: Session) -> None:
        """Forget a session and all that waits for it."""
        for text in list(session.subscriptions):
            self._drop_subscription(turn, session, text)
        del self._sessions[session.client]
        if session.is_durable:
            client = session.client
            turn.write(("session", client), None)
            turn.write(("sequence", client), None)
            turn.write(("moved", client), None)
            for packet_id in session.received:
                turn.write(("received", client, packet_id), None)
            for packet_id, waiting in session.under_way.items():
                turn.write(("under_way", client, packet_id), None)
                turn.write(("queue", client, waiting.place), None)
            for waiting in session.queue:
                turn.write(("queue", client, waiting.place), None)

    def deliver(self, turn: Turn, frame: StreamFrame) -> bool:
        """Give a publication to every session that wants it; True if that wrote to disk."""
        publication = frame.publication
        found: dict[str, list[packets.Subscription]] = {}
        for client, wanted in self._index.match(publication.topic, publication.properties):
            subscription = self._sessions[client].subscriptions[str(wanted)]
            if not (subscription.no_local and self._is_own(client, publication)):
                found.setdefault(client, []).append(subscription)
        wrote = False
        for client, subscriptions in found.items():
            session = self._sessions[client]
            if session.floors and frame.number:
                floor = session.floors.get((frame.origin, publication.topic), 0)
                if frame.number <= floor:
                    continue
            if self._queue(turn, session, frame, subscriptions):
                wrote = True
        return wrote

    def _is_own(self, client: str, publication: Publication) -> bool:
        return publication.publisher == self._sessions[client].identity

    def _queue(
        self,
        turn: Turn,
        session: Session,
        frame: StreamFrame,
        subscriptions: list[packets.Subscription],
    ) -> bool:
        publication = frame.publication
        qos = min(publication.qos, max(one.qos for one in subscriptions))
        retain = publication.retain and any(one.retain_as_published for one in subscriptions)
        identifiers = tuple(one.identifier for one in subscriptions if one.identifier)
        waiting = Waiting(
            session.next_index,
            publication,
            qos,
            retain,
            identifiers,
            frame.origin,
            frame.number,
        )
        if qos == 0:
            turn.once_synced(self._answer(session, _publish_packet(waiting, 0)))
            return session.is_durable
        if len(session.queue) >= self._settings.queue_max:
            turn.report(_refusal(session, publication, "the client's queue is full"))
            return False
        session.next_index += 1
        session.queue.append(waiting)
        if session.is_durable:
            turn.write(("queue", session.client, waiting.place), waiting)
        turn.once_synced(partial(self._hand_over, session=session))
        return session.is_durable

    def _hand_over(self, turn: Turn, session: Session) -> None:
        """Send what waits, as far as the client takes it."""
        while session.queue and session.has_window():
            waiting = session.queue.popleft()
            packet_id = session.free_packet_id()
            session.under_way[packet_id] = waiting
            if session.is_durable:
                turn.write(("under_way", session.client, packet_id), (waiting.place, False))
            packet = _publish_packet(waiting, packet_id)
            turn.once_synced(self._answer(session, packet))

    def _connected(self, turn: Turn, session: Session, *, is_present: bool) -> None:
        """Answer CONNECT, then send again what was under way, then what waits."""
        session.is_connected = True
        turn.ask(SendClient(session.client, packets.Connack(is_present)))
        for packet_id, waiting in session.under_way.items():
            if packet_id in session.released:
                self._send(turn, session, packets.Pubrel(packet_id))
            else:
                self._send(turn, session, _publish_packet(waiting, packet_id, is_duplicate=True))
        self._hand_over(turn, session)

    def _answer(self, session: Session, packet: object) -> Action:
        """To send a packet later, on the connection that stands now or not at all."""
        connection = session.connection

        def send(turn: Turn) -> None:
            if session.connection == connection:
                self._send(turn, session, packet)

        return send

    def _send(self, turn: Turn, session: Session, packet: object) -> None:
        if session.is_connected:
            turn.ask(SendClient(session.client, packet))

    def _publish(self, turn: Turn, session: Session, packet: packets.Publish) -> None:
        refusal = self._why_not(packet)
        answer = packets.Pubrec if packet.qos == 2 else packets.Puback
        if packet.packet_id in session.received and packet.qos == 2:
            again = packets.Pubrec(packet.packet_id)
            turn.once_synced(self._answer(session, again))
            return
        if refusal is not None:
            if packet.qos:
                self._send(turn, session, answer(packet.packet_id, refusal))
            return
        session.sequence += 1
        publication = Publication(
            session.identity,
            session.sequence,
            packet.topic,
            packet.payload,
            packet.qos,
            packet.retain,
            packet.properties,
            None if packet.expiry_s is None else turn.now_us + packet.expiry_s * 1_000_000,
            self._point_before(turn, session, packet.topic) if packet.qos else None,
        )
        if packet.qos == 0:
            self._outside.publish_unpromised(turn, publication)
            return
        if session.is_durable:
            turn.write(("sequence", session.client), session.sequence)
        if packet.qos == 2:
            session.received[packet.packet_id] = None
            if session.is_durable:
                turn.write(("received", session.client, packet.packet_id), True)
        done = answer(packet.packet_id)
        self._outside.publish(turn, publication, self._answer(session, done))

    def _point_before(self, turn: Turn, session: Session, topic: str) -> StreamPoint | None:
        """What the client published last on a topic at a former broker, told only once."""
        point = session.points.pop(topic, None)
        if point is not None and session.is_durable:
            write_moved(turn, session)
        return point

    def _why_not(self, packet: packets.Publish) -> int | None:
        """The reason to refuse a publication, if there is one."""
        try:
            check_topic_name(packet.topic)
        except FilterError:
            return packets.TOPIC_NAME_INVALID
        if packet.qos and (
            self.disk_is_full or self._outside.log_length() >= self._settings.log_max
        ):
            return packets.QUOTA_EXCEEDED
        return None

    def _publish_will(self, turn: Turn, session: Session) -> None:
        will = session.will
        assert will is not None
        session.sequence += 1
        publication = Publication(
            session.identity, session.sequence, will.topic, will.payload, will.qos, will.retain,
            will.properties,
        )  # fmt: skip
        if will.qos:
            self._outside.publish(turn, publication, _nothing)
        else:
            self._outside.publish_unpromised(turn, publication)

    def _pubrel(self, turn: Turn, session: Session, packet: packets.Pubrel) -> None:
        is_known = session.received.pop(packet.packet_id, session) is None
        if is_known and session.is_durable:
            turn.write(("received", session.client, packet.packet_id), None)
        reason = packets.SUCCESS if is_known else packets.PACKET_IDENTIFIER_NOT_FOUND
        done = packets.Pubcomp(packet.packet_id, reason)
        turn.once_synced(self._answer(session, done))

    def _puback(self, turn: Turn, session: Session, packet: packets.Puback) -> None:
        self._settle(turn, session, packet.packet_id)

    def _pubrec(self, turn: Turn, session: Session, packet: packets.Pubrec) -> None:
        waiting = session.under_way.get(packet.packet_id)
        if packet.reason >= packets.UNSPECIFIED_ERROR:
            self._settle(turn, session, packet.packet_id)
            return
        if waiting is not None and packet.packet_id not in session.released:
            session.released[packet.packet_id] = None
            if session.is_durable:
                key = ("under_way", session.client, packet.packet_id)
                turn.write(key, (waiting.place, True))
        reason = packets.SUCCESS if waiting is not None else packets.PACKET_IDENTIFIER_NOT_FOUND
        release = packets.Pubrel(packet.packet_id, reason)
        turn.once_synced(self._answer(session, release))

    def _pubcomp(self, turn: Turn, session: Session, packet: packets.Pubcomp) -> None:
        self._settle(turn, session, packet.packet_id)

    def _settle(self, turn: Turn, session: Session, packet_id: int) -> None:
        """The client has a message for good."""
        waiting = session.under_way.pop(packet_id, None)
        session.released.pop(packet_id, None)
        if waiting is not None and session.is_durable:
            turn.write(("under_way", session.client, packet_id), None)
            turn.write(("queue", session.client, waiting.place), None)
        self._hand_over(turn, session)

    def _subscribe(self, turn: Turn, session: Session, packet: packets.Subscribe) -> None:
        """Take the filters; answered when all of them are in force in the network."""
        reasons: list[int] = []
        remaining = 1

        connection = session.connection

        def one_done(later: Turn) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining and session.connection == connection:
                suback = packets.Suback(packet.packet_id, tuple(reasons))
                later.once_synced(self._answer(session, suback))

        for subscription in packet.subscriptions:
            try:
                wanted = parse_filter(subscription.filter_text)
            except FilterError:
                reasons.append(packets.TOPIC_FILTER_INVALID)
                continue
            reasons.append(subscription.qos)
            remaining += 1
            self._add_subscription(turn, session, wanted, subscription, one_done)
        one_done(turn)

    def _add_subscription(
        self,
        turn: Turn,
        session: Session,
        wanted: Filter,
        subscription: packets.Subscription,
        done: Action,
    ) -> None:
        text = str(wanted)
        is_new = text not in session.subscriptions
        session.subscriptions[text] = subscription
        if session.is_durable:
            turn.write(("subscription", session.client, text), subscription)
            self._outside.remember(turn, wanted.topic_filter)
        if is_new:
            self._index.add(session.client, wanted)
            self._outside.want(turn, wanted.ungrouped(), done)
        else:
            self._outside.when_in_force(turn, wanted.ungrouped(), done)

    def _unsubscribe(self, turn: Turn, session: Session, packet: packets.Unsubscribe) -> None:
        reasons = []
        for text in packet.filter_texts:
            try:
                known = str(parse_filter(text)) in session.subscriptions
            except FilterError:
                reasons.append(packets.TOPIC_FILTER_INVALID)
                continue
            reasons.append(packets.SUCCESS if known else 0x11)
            if known:
                self._drop_subscription(turn, session, str(parse_filter(text)))
        unsuback = packets.Unsuback(packet.packet_id, tuple(reasons))
        turn.once_synced(self._answer(session, unsuback))

    def _drop_subscription(self, turn: Turn, session: Session, text: str) -> None:
        wanted = parse_filter(text)
        del session.subscriptions[text]
        self._index.discard(session.client, wanted)
        if session.is_durable:
            turn.write(("subscription", session.client, text), None)
        self._outside.unwant(turn, wanted.ungrouped())


def _publish_packet(
    waiting: Waiting, packet_id: int, *, is_duplicate: bool = False
) -> packets.Publish:
    publication = waiting.publication
    return packets.Publish(
        publication.topic,
        publication.payload,
        waiting.qos,
        waiting.retain,
        packet_id,
        is_duplicate,
        publication.properties,
        None,
        waiting.subscription_ids,
    )


def _refusal(session: Session, publication: Publication, reason: str) -> Refused:
    return Refused(
        client=session.client,
        publisher=publication.publisher,
        sequence=publication.sequence,
        topic=publication.topic,
        reason=reason,
    )


def _nothing(_turn: Turn) -> None:
    """Nobody waits for this."""
