"""What enters through a session: its client's publications, and its will."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from meshwright.errors import FilterError
from meshwright.filters.topics import check_topic_name
from meshwright.model.publication import Publication, StreamPoint
from meshwright.protocol.foundation.dispatch import Table
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.rights import WILL_NOT_ALLOWED
from meshwright.protocol.foundation.turn import Turn, nothing
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.plain_messages import payloads
from meshwright.protocol.mqtt.qos1_runs import SentRun, packet_ids, publications
from meshwright.protocol.sessions.deliveries import (
    on_this_connection,
    refusal,
    send_once_synced,
    send_packet,
)
from meshwright.protocol.sessions.full_queues import FullQueue
from meshwright.protocol.sessions.held_back import HeldBack, single_packets
from meshwright.protocol.sessions.run_delivery import RunDelivery
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.session_outside import Outside
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.sessions.wills import expires_us, will_publication

SYSTEM = "$SYS"
SYSTEM_PREFIX = f"{SYSTEM}/"
BROKERS_OWN = "only brokers publish under $SYS"
OTHER_BROKERS = FullQueue("", "")


class Publishing:
    """Takes publications, or says why not.

    log_length: how many publications the broker keeps for other brokers; from log_max on it refuses
    more. held: clients of MQTT 3, which cannot be told that there is no room and wait for it.
    """

    def __init__(
        self,
        settings: SessionSettings,
        outside: Outside,
        run_delivery: RunDelivery,
        *,
        log_length: Callable[[], int],
        answers: Table[Session],
        away: Callable[[Turn, Session, str], None],
    ) -> None:
        self._log_max = settings.log_max
        self._full = outside.full
        self._answers = answers
        self.held = HeldBack(why_wait=self._why_wait, do=self._do, away=away)
        self.writes_runs = settings.writes_runs
        self._rights = settings.rights
        self._publish = outside.publish
        self._publish_qos0 = outside.publish_qos0
        self._publish_elsewhere = outside.publish_elsewhere
        self._has_order = outside.outgoing.ordering.takes
        self._carry = outside.carry
        self._hand_out = run_delivery.hand_out
        self._run_count = 0
        self._store = outside.retained_store
        self._when_settled = self._store.when_settled
        self._log_length = log_length
        self.disk_is_full = False

    def publish(self, turn: Turn, session: Session, packet: packets.Publish) -> None:
        """A client publishes; answered when its message is safe."""
        if not (self.held.waiting and self.held.takes(turn, session, packet)):
            self._take(turn, session, packet)

    def _take(self, turn: Turn, session: Session, packet: packets.Publish) -> None:
        if session.version != packets.MQTT_5:
            waits_for = self._why_wait(turn, session, packet)
            if waits_for is not None:
                self.held.hold(turn, session, packet, waits_for)
                self._full.wake(turn)
                return
        reason = self._why_not(turn, session, packet)
        answer = packets.Pubrec if packet.qos == 2 else packets.Puback
        if packet.packet_id in session.received and packet.qos == 2:
            again = packets.Pubrec(packet.packet_id)
            self._when_settled(turn, packet.topic, on_this_connection(session, again))
            return
        if reason is not None:
            if is_system(packet.topic) or not packet.qos:
                # MQTT 3, and QoS 0, have no answer with a reason code.
                turn.report(refusal(session.client, _unsaid(session, packet), reason[1]))
            if packet.qos:
                send_packet(turn, session, answer(packet.packet_id, *reason))
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
            expires_us(packet.expiry_s, turn.now_us),
            # With every one, as some brokers do not get the first, or join later.
            self._points_before(session, packet.topic, packet.qos),
            packet.extras,
        )
        if packet.qos == 0:
            self._publish_qos0(turn, publication)
            return
        if session.is_durable:
            turn.write(("sequence", session.client), session.sequence)
        if packet.qos == 2:
            session.received[packet.packet_id] = None
            if session.is_durable:
                turn.write(("received", session.client, packet.packet_id), True)
        self._publish(turn, publication, on_this_connection(session, answer(packet.packet_id)))

    def publish_run(self, turn: Turn, session: Session, packet: packets.PublishRun) -> None:
        """Send other brokers plain messages of a client that local clients have got already."""
        first, raw = session.sequence + 1, packet.packets
        session.sequence += packet.count
        payload = raw if packet.count > 1 else next(payloads(raw))
        self._carry(
            turn,
            Publication(session.identity, first, packet.topic, payload, count=packet.count),
        )

    def publish_qos1_runs(
        self, turn: Turn, session: Session, packet: packets.PublishQos1Runs
    ) -> None:
        """A client publishes runs of QoS 1: handed out and answered once they are on disk together.

        Only local clients get them, so log_max does not count.
        """
        safe: list[tuple[int, packets.Qos1Run]] = []
        ids = b""
        for run in packet.runs:
            sent = SentRun(run, session.identity, session.sequence + 1, 0, 0)
            if self.disk_is_full or session.points or not self._hand_out(turn, sent):
                if ids:
                    send_once_synced(turn, session, packets.PubackRun(ids))
                    ids = b""
                self._publish_one_by_one(turn, session, run)
                continue
            safe.append((sent.sequence, run))
            session.sequence += run.count
            ids += packet_ids(run)
        if ids:
            send_once_synced(turn, session, packets.PubackRun(ids))
        if safe and self.writes_runs:
            self._run_count += 1
            key = ("runs", self._run_count)
            turn.write(key, (session.identity, tuple(safe)))
            session.unsafe_run_count += 1
            turn.once_synced(partial(_forget_runs, session=session, key=key))
        if safe and session.is_durable:
            turn.write(("sequence", session.client), session.sequence)

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a crash: publish runs that were on disk, as other brokers may want them by now.

        Local clients had them while they were connected, and are owed them no longer.
        """
        for key in sorted(key for key in disk if key[0] == "runs"):
            identity, runs = disk[key]
            turn.write(key, None)
            self._run_count = int(key[1])
            for sequence, run in runs:
                for publication in publications(run, identity, sequence):
                    self._publish_elsewhere(turn, publication, nothing)

    def _publish_one_by_one(self, turn: Turn, session: Session, run: packets.Qos1Run) -> None:
        for packet in single_packets(run):
            self.publish(turn, session, packet)

    def release(self, turn: Turn, session: Session, packet: packets.Pubrel) -> None:
        """PUBREL: the client is done with a QoS 2 message, and its session forgets it."""
        is_known = session.received.pop(packet.packet_id, session) is None
        if is_known and session.is_durable:
            turn.write(("received", session.client, packet.packet_id), None)
        reason = packets.SUCCESS if is_known else packets.PACKET_IDENTIFIER_NOT_FOUND
        done = packets.Pubcomp(packet.packet_id, reason)
        send_once_synced(turn, session, done)

    def publish_will(self, turn: Turn, session: Session) -> None:
        """Publish the will of a session, which then has none."""
        if session.will is None:
            return
        session.sequence += 1
        will, session.will = session.will, None
        if session.is_durable:
            turn.write(("sequence", session.client), session.sequence)
        # At QoS 0 it leaves later, and needs a sequence above all that the client sent before.
        identity = session.identity if will.qos else f"{session.identity}.will"
        after = self._points_before(session, will.topic, will.qos)
        last = will_publication(identity, session.sequence, will, turn.now_us, after)
        self.publish_last(turn, session.client, last)

    def _points_before(self, session: Session, topic: str, qos: int) -> tuple[StreamPoint, ...]:
        """The client's points at former brokers that come before its next message."""
        points = session.points.get(topic, ()) if session.points else ()
        if not session.points or not self._has_order(topic):
            return points if qos else ()
        others = [
            StreamPoint(point.origin, point.number, other)
            for other, found in session.points.items()
            if other != topic and self._has_order(other)
            for point in found
        ]
        return (*points, *others)

    def publish_last(self, turn: Turn, client: str, publication: Publication) -> None:
        """Publish a will that this turn deletes from the disk, if its client still may.

        At QoS 0 it is sent once the deletion is synced, so that a crash cannot repeat it. Room is
        kept for it until then if its topic has an order, as it will be kept for other brokers.
        """
        topic = publication.topic
        if self._rights is not None and not self._rights.may_write(client, topic):
            turn.report(refusal(client, publication, WILL_NOT_ALLOWED))
        elif publication.qos:
            self._publish(turn, publication, nothing)
        else:
            is_kept = self._has_order(topic)
            self._store.reserved += is_kept

            def synced(later: Turn) -> None:
                self._store.reserved -= is_kept
                self._publish_qos0(later, publication)

            turn.once_synced(synced)

    def publish_for(self, turn: Turn, publication: Publication) -> None:
        """Publish for a client that waits for no answer."""
        if publication.qos:
            self._publish(turn, publication, nothing)
        else:
            self._publish_qos0(turn, publication)

    def retry(self, turn: Turn) -> None:
        """There may be room again for what clients wait to publish."""
        self.held.retry(turn)
        if self.held.waiting:
            self._full.wake(turn)

    def _do(self, turn: Turn, session: Session, packet: Any) -> None:
        """Go on with a packet that has waited."""
        if isinstance(packet, packets.Publish):
            self._take(turn, session, packet)
        else:
            self._answers[type(packet)](turn, session, packet)

    def _why_wait(self, turn: Turn, session: Session, packet: packets.Publish) -> FullQueue | None:
        """The full queue for which a message of an MQTT 3 client waits, if any."""
        if not packet.qos or (packet.qos == 2 and packet.packet_id in session.received):
            return None
        if self._log_length() >= self._log_max:
            return OTHER_BROKERS
        return self._blocking(turn, session, packet)

    def _blocking(self, turn: Turn, session: Session, packet: packets.Publish) -> FullQueue | None:
        if not self._full.filters:
            return None
        client = session.client
        return self._full.blocking(turn.now_us, packet.topic, packet.properties, client)

    def _why_not(
        self, turn: Turn, session: Session, packet: packets.Publish
    ) -> tuple[int, str] | None:
        """The reason to refuse a publication, if there is one, and words for it."""
        if is_system(packet.topic):
            return packets.NOT_AUTHORIZED, BROKERS_OWN
        if not may_be_published(packet.topic):
            return packets.TOPIC_NAME_INVALID, "clients cannot publish on this topic"
        if packet.extras is not None and not packet.extras.fits(packet.payload):
            return packets.PAYLOAD_FORMAT_INVALID, "the payload is not UTF-8 text, as it is said"
        if not packet.qos and not self._has_order(packet.topic):
            return None
        if self.disk_is_full:
            return packets.QUOTA_EXCEEDED, "the broker's disk is full"
        if self._log_length() >= self._log_max:
            return packets.QUOTA_EXCEEDED, "too many messages wait for other brokers"
        if packet.qos and self._blocking(turn, session, packet) is not None:
            return packets.QUOTA_EXCEEDED, "the queue of a client that wants it is full"
        return None


def _forget_runs(turn: Turn, session: Session, key: DiskKey) -> None:
    """Runs were on disk, and are handed out."""
    session.unsafe_run_count -= 1
    turn.forget(key)


def may_be_published(topic: str) -> bool:
    """True if a client can publish on a topic; what brokers tell of themselves is theirs."""
    try:
        check_topic_name(topic)
    except FilterError:
        return False
    return not is_system(topic)


def is_system(topic: str) -> bool:
    """True if brokers tell of themselves on a topic."""
    return topic.startswith(SYSTEM_PREFIX) or topic == SYSTEM


def _unsaid(session: Session, packet: packets.Publish) -> Publication:
    """A refused publication as a record shows it: it has no sequence of its own."""
    return Publication(session.identity, session.sequence, packet.topic)
