"""The sessions of a broker: where clients' packets come in, and which machine takes each.

A QoS 1 or 2 message of a client is answered when its stream has it on disk. What waits for a client
whose session outlives its connection is on disk before the stream is acknowledged, and leaves it
when the client has answered.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from meshwright.filters.filter import Filter, parse_filter
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.dispatch import Table, on, table_of
from meshwright.protocol.foundation.effects import CloseClient, DiskKey, SendClient
from meshwright.protocol.foundation.events import ClientPacket
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.deliveries import Deliveries, send_packet
from meshwright.protocol.sessions.publishing import Publishing
from meshwright.protocol.sessions.queue_bounds import QueueBounds, SessionTallies
from meshwright.protocol.sessions.recipients import Recipients
from meshwright.protocol.sessions.retained_replay import RetainedReplay
from meshwright.protocol.sessions.run_delivery import RunDelivery
from meshwright.protocol.sessions.session import Phase, Recipient, Session, recipient_of
from meshwright.protocol.sessions.session_disk import erase, restored_sessions, write_state
from meshwright.protocol.sessions.session_outside import Outside
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.sessions.session_state import SessionState, unpack
from meshwright.protocol.sessions.subscribing import Subscribing
from meshwright.protocol.sessions.will_quota import WillQuota
from meshwright.protocol.sessions.wills import (
    is_expired,
    next_due_us,
    timer_of,
    will_is_due,
    will_publication,
)

# More than a client can publish between two writes of its sequence.
UNWRITTEN_MAX = 1 << 40


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
        self._serial = 0
        self._change_count = 0
        self._answers: Table[Session] = {}
        self._wills: dict[str, tuple[str, packets.Will]] = {}
        self.will_quota = WillQuota(
            self._sessions,
            settings.log_max,
            outside.retained_store.log_length,
            outside.outgoing.ordering,
        )
        self._tallies = SessionTallies(settings)
        self._bounds = QueueBounds(settings, outside.full, self._tallies)
        self._deliveries = Deliveries(
            self._bounds,
            outside.shared,
            rights=settings.rights,
            misbehaved=self._misbehaved,
        )
        self._looks = RetainedReplay(self._deliveries, outside.find_retained)
        self._recipients = Recipients(self._looks, settings.rights)
        self.run_delivery = RunDelivery(
            self._recipients,
            self._deliveries,
            stays_here=outside.stays_here,
            handed_out=outside.handed_out,
        )
        self.publishing = Publishing(
            settings,
            outside,
            self.run_delivery,
            log_length=self.will_quota.log_length,
            answers=self._answers,
            away=self._misbehaved,
        )
        subscribing = Subscribing(
            outside.slices,
            add=self._add_subscription,
            drop=self._drop_subscription,
            look=self._look,
            release=self._looks.release,
        )
        self._answers |= table_of(
            on(packets.Publish, self.publishing.publish),
            on(packets.PublishRun, self.publishing.publish_run),
            on(packets.PublishQos1Runs, self.publishing.publish_qos1_runs),
            on(packets.Pubrel, self.publishing.release),
            on(packets.Subscribe, subscribing.subscribe),
            on(packets.Unsubscribe, subscribing.unsubscribe),
            on(packets.Disconnect, self._goodbye),
            *self._deliveries.handlers(),
        )

    def restore(self, disk: dict[DiskKey, Any]) -> list[Filter]:
        """Take back sessions that outlive a crash; returns all filters that they want."""
        self._sessions.update(restored_sessions(disk))
        for session in self._sessions.values():
            self._tallies.opened(session)
        for key in sorted(key for key in disk if key[0] == "will"):
            self._wills[str(key[1])] = disk[key]
        filters = []
        for session in self._sessions.values():
            for text in session.subscriptions:
                wanted = parse_filter(text)
                if wanted.group is None:
                    self._recipients.add(session, wanted)
                    filters.append(wanted)
        return filters

    def all(self) -> tuple[Session, ...]:
        """Every session here."""
        return tuple(self._sessions.values())

    def queue_length(self) -> int:
        """The most that waits for one client."""
        return max([len(session.queue) for session in self._sessions.values()], default=0)

    def queue_is_full(self, session: Session) -> bool:
        """True if nothing more is taken for a client, or if more of it would be dropped."""
        return self._bounds.is_full(session)

    def change_count(self) -> int:
        """Grows with everything that may change who gets a publication."""
        return (
            self._change_count
            + self._recipients.change_count
            + self._looks.begun_count
            + self.publishing.held.change_count
        )

    def points_changed(self) -> None:
        """What goes before a client's publications has changed."""
        self._change_count += 1

    def rights_changed(self, turn: Turn) -> None:
        """Rights changed: drop queued messages that their clients may not read any more."""
        self._recipients.changed()
        for session in self._sessions.values():
            self._deliveries.withhold(turn, session)

    def clients_wanting(self, publication: Publication) -> tuple[str, ...]:
        """The clients here whose filters match a publication."""
        return self._recipients.clients(publication)

    def recipients_of(self, publisher: str, topic: str) -> tuple[Recipient, ...] | None:
        """Who gets what a publisher says without properties while nothing changes, if known."""
        return self._recipients.plain(publisher, topic)

    def publish_wills(self, turn: Turn) -> None:
        """After a crash: clients that were connected did not say goodbye, so wills fall due."""
        for client, (identity, will) in self._wills.items():
            # The client's last sequence is not known, so its will has a publisher of its own.
            last = will_publication(f"{identity}.will", 1, will, turn.now_us)
            self.publishing.publish_last(turn, client, last)
            turn.write(("will", client), None)
        self._wills.clear()
        for session in list(self._sessions.values()):
            self._bounds.queued(turn, session)
            if not session.is_away:
                # Its sequence may be higher than on disk, as QoS 0 is not written.
                session.sequence += UNWRITTEN_MAX
                self._detach(turn, session)
            else:
                self.due(turn, session.client)

    def connect(self, turn: Turn, client: str, packet: packets.Connect) -> None:
        """A client is here: open its session, or resume it and hand over what waits."""
        self.disconnect(turn, client, clean=False)
        packet = self.will_quota.without_system(turn, client, packet)
        session = self._sessions.get(client)
        refusal = self.will_quota.refusal(client, packet)
        if refusal is None and session is None:
            refusal = self._tallies.refusal(client)
        if refusal is not None:
            turn.ask(SendClient(client, refusal))
            turn.ask(CloseClient(client))
            return
        if session is not None and packet.clean_start:
            self.close(turn, session)
            session = None
        is_present = session is not None
        if session is None:
            self._serial += 1
            identity = f"{client}@{self._me}.{self._incarnation}.{self._serial}"
            session = self._open(client, identity, Phase.DISCONNECTED)
        # Nothing may be sent before CONNACK, nor on an earlier connection any more.
        session.connection += 1
        session.last_for(packet.session_expiry_s)
        receive_maximum = min(packet.receive_maximum, self._settings.inflight_max)
        session.open_window(receive_maximum, self._settings.inflight_bytes_max)
        session.version = packet.protocol_version
        session.will = packet.will
        session.become(Phase.CONNECTING)
        session.disconnected_us = None
        session.awaited_until_us = 0
        self._write_state(turn, session)
        connection = session.connection

        def connected(later: Turn) -> None:
            if session.connection == connection:
                self._connected(later, session, is_present=is_present)

        turn.once_synced(connected)

    def disconnect(self, turn: Turn, client: str, *, clean: bool) -> None:
        """A client's connection is gone; a session that does not outlive it ends."""
        session = self._sessions.get(client)
        if session is not None and not (session.is_away or session.is_arriving):
            if clean:
                session.will = None
            self._detach(turn, session)

    def due(self, turn: Turn, client: str) -> None:
        """The time of a will or of a whole session may have come."""
        session = self._sessions.get(client)
        if session is None or session.phase is not Phase.DISCONNECTED:
            return
        if is_expired(session, turn.now_us):
            self.close(turn, session)
            return
        if will_is_due(session, turn.now_us):
            self.publishing.publish_will(turn, session)
            self._write_state(turn, session)
        due_us = next_due_us(session)
        if due_us is not None:
            turn.timer(timer_of(client), due_us)

    def close(self, turn: Turn, session: Session) -> None:
        """A session is over, wherever its client is: its will goes out, and it is forgotten."""
        self.publishing.publish_will(turn, session)
        self._forget(turn, session)
        self._outside.shared.abandoned(turn, session)
        session.let_go()

    def look_for_room(self, turn: Turn) -> None:
        """Queues may have room again: let publishers that wait for it go on."""
        self._bounds.look_again(turn, self._sessions.get)
        self.publishing.retry(turn)

    def _open(self, client: str, identity: str, phase: Phase) -> Session:
        session = self._sessions[client] = Session(client, identity, phase)
        self._tallies.opened(session)
        return session

    def find(self, client: str) -> Session | None:
        """The session of a client here, one that is only arriving included."""
        return self._sessions.get(client)

    def take_over(self, turn: Turn, session: Session) -> None:
        """The client is elsewhere: close what connection it has here."""
        if not session.is_away:
            self._send_away(turn, session, packets.Disconnect(packets.SESSION_TAKEN_OVER))

    def end_by_order(self, turn: Turn, session: Session) -> None:
        """An operator ends a session: its client is told to go, if it is here."""
        if not session.is_away:
            self._send_away(turn, session, packets.Disconnect(packets.ADMINISTRATIVE_ACTION))
        if self._sessions.get(session.client) is session:
            self.close(turn, session)

    def leaves(self, turn: Turn, session: Session) -> None:
        """A session was sent to another broker with its will: no timer of it counts here."""
        session.become(Phase.LEAVING)
        self._change_count += 1
        self._write_state(turn, session)
        self._outside.shared.departed(turn, session)

    def stays(self, turn: Turn, session: Session) -> None:
        """A session that was sent to another broker did not arrive: it is served here again."""
        if session.awaited_until_us and session.disconnected_us is not None:
            waited_us = min(turn.now_us, session.awaited_until_us)
            session.disconnected_us = max(session.disconnected_us, waited_us)
            self._write_state(turn, session)
        session.awaited_until_us = 0
        if session.is_leaving:
            session.become(Phase.DISCONNECTED)
            self._outside.shared.arrived(turn, session)
        self.due(turn, session.client)

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
        session = self._open(client, identity, Phase.ARRIVING)
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
        # Its former broker cannot have got these, and clients here are not given them again.
        for number, publication in self._outside.retained_store.unsent():
            recipients = self._recipients.of(publication)
            mine = tuple(one for one in recipients if one.session is session)
            self._deliveries.deliver(turn, StreamFrame(self._me, number, publication), mine)
        one_done(turn)

    def unpack(self, turn: Turn, client: str, session_state: SessionState) -> None:
        """The rest of an arriving session is here: from now on it is this broker's."""
        session = self._sessions[client]
        session.become(Phase.DISCONNECTED)
        session.disconnected_us = turn.now_us
        unpack(turn, session, session_state)
        self._bounds.queued(turn, session)
        if session.is_durable:
            for text in session.subscriptions:
                self._outside.remember(turn, parse_filter(text).topic_filter)
        # A group may count on a member only when a crash here cannot undo its arrival.
        turn.once_synced(partial(self._arrived_in_groups, session=session))
        self.due(turn, client)

    def _arrived_in_groups(self, turn: Turn, session: Session) -> None:
        if self._sessions.get(session.client) is session and not session.is_leaving:
            self._outside.shared.arrived(turn, session)

    def take_shared(
        self, turn: Turn, client: str, hand: tuple[str, int], publication: Publication
    ) -> bool:
        """Let a message of a shared subscription wait for a client; False if it is not here."""
        session = self._sessions.get(client)
        text, number = hand
        if session is None or session.is_arriving or session.is_leaving:
            return False
        subscription = session.subscriptions.get(text)
        if subscription is None:
            return False
        recipient = recipient_of(session, [subscription])
        self._deliveries.hand(turn, recipient, publication, hand if number else None)
        return True

    def client_packet(self, turn: Turn, event: ClientPacket) -> None:
        """A packet came from a client that is connected here."""
        self.packet(turn, event.client, event.packet)

    def packet(self, turn: Turn, client: str, packet: Any) -> None:
        """A packet of a client, wherever it is connected."""
        session, held = self._sessions.get(client), self.publishing.held
        if session is None or (held.waiting and held.takes(turn, session, packet)):
            return
        self._answers[type(packet)](turn, session, packet)

    def end(self, turn: Turn, session: Session, target: str | None = None) -> None:
        """Forget a session that goes on elsewhere: with all that it has, if at a target."""
        self._outside.shared.ended(turn, session, target)
        self._forget(turn, session)

    def _forget(self, turn: Turn, session: Session) -> None:
        self._change_count += 1
        for text in list(session.subscriptions):
            self._drop_subscription(turn, session, text)
        del self._sessions[session.client]
        self._tallies.closed(session)
        self._bounds.over(turn, session)
        self.publishing.held.drop(turn, session.client)
        turn.facts.session_over.tell(turn, session.client)
        if session.is_durable:
            erase(turn, session)
        if self._wills.pop(session.client, None) is not None:
            turn.write(("will", session.client), None)

    def deliver(self, turn: Turn, frame: StreamFrame) -> bool:
        """Give a publication to every session that wants it; True if that wrote to disk."""
        recipients = self._recipients.of(frame.publication)
        return self._deliveries.deliver(turn, frame, recipients)

    def _connected(self, turn: Turn, session: Session, *, is_present: bool) -> None:
        """Answer CONNECT, then send again what was in flight, then what waits."""
        session.become(Phase.CONNECTED)
        self._change_count += 1
        self._outside.shared.stirred(turn, session)
        turn.ask(SendClient(session.client, packets.Connack(is_present)))
        self._deliveries.resume(turn, session)

    def _detach(self, turn: Turn, session: Session) -> None:
        """The connection of a session is over; what falls due at once is done."""
        session.become(Phase.DISCONNECTED)
        self.publishing.held.drop(turn, session.client)
        turn.facts.client_gone.tell(turn, session.client)
        self._change_count += 1
        session.connection += 1
        session.disconnected_us = turn.now_us
        self._write_state(turn, session)
        self._outside.shared.stirred(turn, session)
        self.due(turn, session.client)

    def _misbehaved(self, turn: Turn, session: Session, problem: str) -> None:
        """A client broke the rules of MQTT in a way that only its session shows."""
        goodbye = packets.Disconnect(packets.PROTOCOL_ERROR, reason_text=problem)
        self._send_away(turn, session, goodbye)

    def _send_away(self, turn: Turn, session: Session, goodbye: packets.Disconnect) -> None:
        send_packet(turn, session, goodbye)
        turn.ask(CloseClient(session.client))
        self.disconnect(turn, session.client, clean=False)

    def _goodbye(self, turn: Turn, session: Session, packet: packets.Disconnect) -> None:
        """A client leaves; only with the plain reason it takes its will back."""
        if packet.session_expiry_s is not None and session.expiry_s:
            session.last_for(packet.session_expiry_s)
        self.disconnect(turn, session.client, clean=packet.reason == packets.SUCCESS)

    def _write_state(self, turn: Turn, session: Session) -> None:
        """Put on disk what a crash must not undo: a session that lasts, or else its will."""
        if session.is_durable:
            write_state(turn, session)
        elif session.will is not None and not session.is_away:
            self._wills[session.client] = (session.identity, session.will)
            turn.write(("will", session.client), self._wills[session.client])

    def _look(
        self, turn: Turn, session: Session, wanted: Filter, *, is_new: bool, done: Action
    ) -> None:
        """A filter is in force: send what is retained, unless it is gone again."""
        if self._sessions.get(session.client) is session and str(wanted) in session.subscriptions:
            self._looks.begin(turn, session, wanted, is_new=is_new, done=done)
        else:
            done(turn)

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
        if wanted.group is not None:
            # Who only arrives here is counted elsewhere until it is here for good.
            if session.is_arriving:
                done(turn)
            else:
                self._outside.shared.join(turn, session, text, done)
        elif is_new:
            self._recipients.add(session, wanted)
            self._outside.interest.add(turn, wanted, done)
        else:
            self._recipients.changed()
            self._outside.interest.when_in_force(turn, wanted, done)
        self._bounds.resubscribed(turn, session)

    def _drop_subscription(self, turn: Turn, session: Session, text: str) -> None:
        wanted = parse_filter(text)
        del session.subscriptions[text]
        self._looks.forget(session.client, text)
        if session.is_durable:
            turn.write(("subscription", session.client, text), None)
        if wanted.group is not None:
            self._outside.shared.leave(turn, session.client, text)
        else:
            self._recipients.discard(session, wanted)
            self._outside.unwant(turn, wanted)
        self._bounds.resubscribed(turn, session)
