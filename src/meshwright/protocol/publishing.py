"""What enters through a session: publications of its client, and its will."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.errors import FilterError
from meshwright.filters.topics import check_topic_name
from meshwright.model.publication import Publication
from meshwright.protocol import packets
from meshwright.protocol.deliveries import (
    on_this_connection,
    refusal,
    send_once_synced,
    send_packet,
)
from meshwright.protocol.effects import DiskKey
from meshwright.protocol.mqtt.plain_messages import payloads
from meshwright.protocol.promised_runs import (
    SentRun,
    numbers,
    packet_ids,
    payload_of,
    publications,
)
from meshwright.protocol.rights import WILL_NOT_ALLOWED, Rights
from meshwright.protocol.session import Session
from meshwright.protocol.turn import Action, Turn, nothing
from meshwright.protocol.wills import expires_us, will_publication

SYSTEM = "$SYS"
SYSTEM_PREFIX = f"{SYSTEM}/"
BROKERS_OWN = "only brokers publish under $SYS"


class Publishing:
    """Takes publications, or says why not.

    log_length tells how much the broker keeps for the network, of which log_max is too much.
    """

    def __init__(
        self,
        log_max: int,
        *,
        writes_runs: bool,
        rights: Rights | None,
        publish: Callable[[Turn, Publication, Action], Any],
        publish_unpromised: Callable[[Turn, Publication], None],
        carry: Callable[[Turn, Publication], None],
        takes_promised: Callable[[str, packets.PromisedRun], bool],
        hand_out: Callable[[Turn, SentRun], bool],
        when_settled: Callable[[Turn, str, Action], None],
        log_length: Callable[[], int],
    ) -> None:
        self._log_max = log_max
        self.writes_runs = writes_runs
        self._rights = rights
        self._publish = publish
        self._publish_unpromised = publish_unpromised
        self._carry = carry
        self._takes_promised = takes_promised
        self._hand_out = hand_out
        self._run_count = 0
        self._when_settled = when_settled
        self._log_length = log_length
        self.disk_is_full = False

    def publish(self, turn: Turn, session: Session, packet: packets.Publish) -> None:
        """A client publishes; answered when its message is safe."""
        if packet.qos and session.unsafe_run_count:
            self._publish_later(turn, session, packet)
            return
        reason = self._why_not(packet)
        answer = packets.Pubrec if packet.qos == 2 else packets.Puback
        if packet.packet_id in session.received and packet.qos == 2:
            again = packets.Pubrec(packet.packet_id)
            self._when_settled(turn, packet.topic, on_this_connection(session, again))
            return
        if reason is not None:
            if is_system(packet.topic):
                # Not every version and QoS has an answer that says so.
                turn.report(refusal(session.client, _unsaid(session, packet), BROKERS_OWN))
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
            session.points.get(packet.topic, ()) if packet.qos else (),
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

    def publish_promised(
        self, turn: Turn, session: Session, packet: packets.PublishPromised
    ) -> None:
        """A client publishes runs of QoS 1: on disk together, then handed out and answered.

        They are for clients here, so it is no matter how much is kept for other brokers.
        """
        if (
            session.detour_count
            or self.disk_is_full
            or any(run.topic in session.points for run in packet.runs)
            or not all(self._takes_promised(session.identity, run) for run in packet.runs)
        ):
            for run in packet.runs:
                self._publish_one_by_one(turn, session, run)
            return
        first = session.sequence + 1
        session.sequence += sum([run.count for run in packet.runs])
        self._run_count += 1
        key = ("runs", self._run_count)
        if self.writes_runs:
            turn.write(key, (session.identity, first, packet.runs))
        if session.is_durable:
            turn.write(("sequence", session.client), session.sequence)
        connection = session.connection
        ids = b"".join([packet_ids(run) for run in packet.runs])
        session.unsafe_run_count += 1

        def safe(later: Turn) -> None:
            session.unsafe_run_count -= 1
            self._runs_safe(later, session, key, first, packet.runs)
            if session.connection == connection:
                send_packet(later, session, packets.PubackRun(ids))

        turn.once_synced(safe)

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a crash: publish runs that were safe, as they may not have been handed out."""
        for key in sorted(key for key in disk if key[0] == "runs"):
            identity, sequence, runs = disk[key]
            turn.write(key, None)
            self._run_count = int(key[1])
            for run in runs:
                for publication in publications(run, identity, sequence):
                    self._publish(turn, publication, nothing)
                sequence += run.count

    def _runs_safe(
        self,
        turn: Turn,
        session: Session,
        key: DiskKey,
        first: int,
        runs: tuple[packets.PromisedRun, ...],
    ) -> None:
        """Runs are on disk: hand them out, and forget them but for those on a detour."""
        is_whole = True
        for run in runs:
            sent = SentRun(run, session.identity, first, 0, 0)
            if session.detour_count or not self._hand_out(turn, sent):
                is_whole = False
                self._detour(turn, session, sent)
            first += run.count
        if not self.writes_runs:
            return
        if is_whole:
            turn.forget(key)
        else:
            turn.delete(key)

    def _detour(self, turn: Turn, session: Session, sent: SentRun) -> None:
        """Have a run that was taken go the whole way, and all after it until it is through."""

        def accepted(_later: Turn) -> None:
            session.detour_count -= 1

        for publication in publications(sent.run, sent.publisher, sent.sequence):
            session.detour_count += 1
            self._publish(turn, publication, accepted)

    def _publish_later(self, turn: Turn, session: Session, packet: packets.Publish) -> None:
        """Have a message wait for runs before it, as they may have to take the same way.

        Whoever has come back meanwhile and kept it sends it again.
        """
        connection = session.connection
        session.detour_count += 1

        def runs_safe(later: Turn) -> None:
            session.detour_count -= 1
            if session.connection == connection or not session.is_durable:
                self.publish(later, session, packet)

        turn.once_synced(runs_safe)

    def _publish_one_by_one(self, turn: Turn, session: Session, run: packets.PromisedRun) -> None:
        ids = numbers(packet_ids(run))
        for place, packet_id in enumerate(ids):
            packet = packets.Publish(run.topic, payload_of(run, place), 1, False, packet_id)
            self.publish(turn, session, packet)

        def settled(_later: Turn) -> None:
            session.detour_count -= 1

        session.detour_count += 1
        self._when_settled(turn, run.topic, settled)

    def release(self, turn: Turn, session: Session, packet: packets.Pubrel) -> None:
        """A client forgets a QoS 2 message: so does its session."""
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
        # Of QoS 0 it goes out later, and must not be taken for something that was said before.
        identity = session.identity if will.qos else f"{session.identity}.will"
        after = session.points.get(will.topic, ())
        last = will_publication(identity, session.sequence, will, turn.now_us, after)
        self.publish_last(turn, session.client, last)

    def publish_last(self, turn: Turn, client: str, publication: Publication) -> None:
        """Publish a will, which this turn takes from the disk, if its client still may.

        What is not kept goes out when that is done, so that a crash cannot repeat it.
        """
        topic = publication.topic
        if self._rights is not None and not self._rights.may_write(client, topic):
            turn.report(refusal(client, publication, WILL_NOT_ALLOWED))
        elif publication.qos:
            self._publish(turn, publication, nothing)
        else:
            turn.once_synced(lambda later: self._publish_unpromised(later, publication))

    def publish_for(self, turn: Turn, publication: Publication) -> None:
        """Publish for a client that waits for no answer."""
        if publication.qos:
            self._publish(turn, publication, nothing)
        else:
            self._publish_unpromised(turn, publication)

    def _why_not(self, packet: packets.Publish) -> tuple[int, str] | None:
        """The reason to refuse a publication, if there is one, and words for it."""
        if is_system(packet.topic):
            return packets.NOT_AUTHORIZED, BROKERS_OWN
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
    return not is_system(topic)


def is_system(topic: str) -> bool:
    """True if brokers tell of themselves on a topic."""
    return topic.startswith(SYSTEM_PREFIX) or topic == SYSTEM


def _unsaid(session: Session, packet: packets.Publish) -> Publication:
    """A publication that was not taken, and so has no number of its own."""
    return Publication(session.identity, session.sequence, packet.topic)
