"""What enters through a session: publications of its client, and its will."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.errors import FilterError
from meshwright.filters.topics import check_topic_name
from meshwright.model.publication import Publication
from meshwright.protocol import packets
from meshwright.protocol.deliveries import on_this_connection, send_packet
from meshwright.protocol.mqtt.plain_messages import payloads
from meshwright.protocol.session import Session
from meshwright.protocol.turn import Action, Turn, nothing
from meshwright.protocol.wills import expires_us, will_publication

SYSTEM_PREFIX = "$SYS/"


class Publishing:
    """Takes publications, or says why not.

    log_length tells how much the broker keeps for the network, of which log_max is too much.
    """

    def __init__(
        self,
        log_max: int,
        *,
        publish: Callable[[Turn, Publication, Action], Any],
        publish_unpromised: Callable[[Turn, Publication], None],
        carry: Callable[[Turn, Publication], None],
        when_settled: Callable[[Turn, str, Action], None],
        log_length: Callable[[], int],
    ) -> None:
        self._log_max = log_max
        self._publish = publish
        self._publish_unpromised = publish_unpromised
        self._carry = carry
        self._when_settled = when_settled
        self._log_length = log_length
        self.disk_is_full = False

    def publish(self, turn: Turn, session: Session, packet: packets.Publish) -> None:
        """A client publishes; answered when its message is safe."""
        refusal = self._why_not(packet)
        answer = packets.Pubrec if packet.qos == 2 else packets.Puback
        if packet.packet_id in session.received and packet.qos == 2:
            again = packets.Pubrec(packet.packet_id)
            self._when_settled(turn, packet.topic, on_this_connection(session, again))
            return
        if refusal is not None:
            if packet.qos:
                send_packet(turn, session, answer(packet.packet_id, *refusal))
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
            session.points.get(packet.topic) if packet.qos else None,
            packet.extras,
        )
        if packet.qos == 0:
            self._publish_unpromised(turn, publication)
            return
        if session.is_durable:
            turn.write(("sequence", session.client), session.sequence)
        if packet.qos == 2:
            session.received[packet.packet_id] = None
            if session.is_durable:
                turn.write(("received", session.client, packet.packet_id), True)
        self._publish(turn, publication, on_this_connection(session, answer(packet.packet_id)))

    def publish_run(self, turn: Turn, session: Session, packet: packets.PublishRun) -> None:
        """A client publishes messages that those here have got already: others are to get them."""
        first, frames = session.sequence + 1, packet.frames
        session.sequence += packet.count
        payload = frames if packet.count > 1 else next(payloads(frames))
        self._carry(
            turn,
            Publication(session.identity, first, packet.topic, payload, count=packet.count),
        )

    def release(self, turn: Turn, session: Session, packet: packets.Pubrel) -> None:
        """A client forgets a QoS 2 message: so does its session."""
        is_known = session.received.pop(packet.packet_id, session) is None
        if is_known and session.is_durable:
            turn.write(("received", session.client, packet.packet_id), None)
        reason = packets.SUCCESS if is_known else packets.PACKET_IDENTIFIER_NOT_FOUND
        done = packets.Pubcomp(packet.packet_id, reason)
        turn.once_synced(on_this_connection(session, done))

    def publish_will(self, turn: Turn, session: Session) -> None:
        """Publish the will of a session, which then has none."""
        if session.will is None:
            return
        session.sequence += 1
        will, session.will = session.will, None
        if session.is_durable:
            turn.write(("sequence", session.client), session.sequence)
        self.publish_for(
            turn, will_publication(session.identity, session.sequence, will, turn.now_us)
        )

    def publish_for(self, turn: Turn, publication: Publication) -> None:
        """Publish for a client that waits for no answer."""
        if publication.qos:
            self._publish(turn, publication, nothing)
        else:
            self._publish_unpromised(turn, publication)

    def _why_not(self, packet: packets.Publish) -> tuple[int, str] | None:
        """The reason to refuse a publication, if there is one, and words for it."""
        if not may_be_published(packet.topic):
            return packets.TOPIC_NAME_INVALID, "clients cannot publish on this topic"
        if packet.extras is not None and not packet.extras.fits(packet.payload):
            return packets.PAYLOAD_FORMAT_INVALID, "the payload is not UTF-8 text, as it is said"
        if packet.qos and self.disk_is_full:
            return packets.QUOTA_EXCEEDED, "the broker's disk is full"
        if packet.qos and self._log_length() >= self._log_max:
            return packets.QUOTA_EXCEEDED, "too many messages wait for other brokers"
        return None


def may_be_published(topic: str) -> bool:
    """True if a client can publish on a topic; what brokers tell of themselves is theirs."""
    try:
        check_topic_name(topic)
    except FilterError:
        return False
    return True
