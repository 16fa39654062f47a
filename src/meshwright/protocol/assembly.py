"""Builds all machines of one broker, gives each what it needs, and says who hears which fact."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from meshwright.filters.filter import Filter
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.forwarding.by_epoch import ForwardingByEpoch
from meshwright.protocol.foundation.dispatch import Handlers, Table, on, table_of
from meshwright.protocol.foundation.events import ClientPacket
from meshwright.protocol.foundation.facts import Facts
from meshwright.protocol.foundation.message import PeerMessage, kinds_of
from meshwright.protocol.foundation.slices import PIECE, Slices, StepCount
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn, nothing
from meshwright.protocol.mobility.moving import Moving, Site
from meshwright.protocol.mqtt.qos1_runs import SentRun
from meshwright.protocol.mqtt.runs import single_publications
from meshwright.protocol.overlays import Ground, Overlays
from meshwright.protocol.peers.admission import Admission
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.liveness import Liveness
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.peers.round_trips import RoundTrips
from meshwright.protocol.reconfiguration.topic_watch import TopicWatch
from meshwright.protocol.retained.lookup import Found, Retained
from meshwright.protocol.retained.store import RetainedStore
from meshwright.protocol.sessions.full_queues import FullQueues
from meshwright.protocol.sessions.session_outside import Outside
from meshwright.protocol.sessions.sessions import Sessions
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.shared.keeper import SharedKeeper
from meshwright.protocol.shared.member import SharedMember
from meshwright.protocol.shared.room import SharedRoom
from meshwright.protocol.streams.incoming import Incoming
from meshwright.protocol.streams.interest import Interest
from meshwright.protocol.streams.messages import AllPassed
from meshwright.protocol.streams.outgoing import Outgoing
from meshwright.protocol.streams.taking import in_order_of_taking, may_wait

# All that the machines of brokers say to each other.
MESSAGES = kinds_of(PeerMessage)


class Machines:
    """The machines of one broker from its start to its end.

    founders: the brokers with which the network began; the overlay may have more by now.
    replica_count: of keys of the network's directory.
    """

    def __init__(
        self,
        me: str,
        settings: BrokerSettings,
        overlay: Overlay,
        founders: tuple[str, ...],
        incarnation: int,
        *,
        replica_count: int,
    ) -> None:
        self._me = me
        self._replica_count = replica_count
        self._settings = settings
        self._overlay = overlay
        self._founders = founders
        self._handlers: Table[str] = {}
        self.slices = Slices()
        # Filters that no session wants any more; they are withdrawn some at a time, in later steps.
        self._unwanted: deque[Filter] = deque()
        self._unwanting = StepCount()
        self._build(incarnation)
        self._handlers.update(table_of(*self._all_handlers()))

    def who_hears_what(self, facts: Facts) -> None:
        """Say of each fact who hears it, and in which order."""
        facts.peer_lost.heard_by(
            self.liveness.peer_lost,
            self.interest.peer_lost,
            self.retained.peer_lost,
            self.shared_keeper.peer_lost,
            self.full_queues.peer_lost,
            self.moving.peer_lost,
        )
        facts.peer_renewed.heard_by(
            self.overlays.before_peer_renewed,
            self.liveness.peer_renewed,
            self.removals.peer_renewed,
            self.directory.peer_renewed,
            self.interest.peer_renewed,
            self.outgoing.peer_renewed,
            self.retained.peer_renewed,
            self.shared_member.peer_renewed,
            self.shared_keeper.peer_renewed,
            self.incoming.peer_renewed,
            self.full_queues.peer_renewed,
            self.moving.peer_renewed,
            self.overlays.peer_renewed,
        )
        facts.roll_changed.heard_by(
            self._know_roll,
            self.round_trips.roll_changed,
            self.directory.roll_changed,
            self.outgoing.roll_changed,
            self.incoming.roll_changed,
            self.retained.roll_changed,
            self.shared_keeper.roll_changed,
            self.shared_member.roll_changed,
            self.moving.roll_changed,
        )
        facts.alive_changed.heard_by(self.overlays.alive_changed, self.removals.alive_changed)
        facts.was_removed.heard_by(self.shared_keeper.forget_all, self.moving.begin_anew)
        facts.epoch_heard.heard_by(self.overlays.change.laggards.heard_epoch)
        facts.unknown_epoch.heard_by(self.overlays.unknown_epoch)
        facts.late_frame.heard_by(self.overlays.change.draining.passed_on)
        facts.switched.heard_by(self.overlays.switched, self.moving.plan_in_force)
        facts.origins_informed.heard_by(self.incoming.origins_informed)
        facts.queues_freed.heard_by(self.sessions.look_for_room)
        facts.subscriptions_changed.heard_by(self.moving.subscriptions_changed)
        facts.session_over.heard_by(self.moving.session_over)
        facts.client_gone.heard_by(self.overlays.client_gone)
        facts.member_moving.heard_by(self.moving.member_moving)

    def relink(self, turn: Turn) -> None:
        """Stay connected with neighbours, homes of clients here, and all while leading a plan."""
        kept = {*self.overlays.neighbours(), *self.moving.peers()}
        self.conversations.keep(turn, sorted(kept - {self._me}))

    def packet_door(self) -> Callable[[Turn, ClientPacket], None]:
        """Where packets of clients come in: at their sessions, unless something is in the way."""
        if self.moving.has_homes() or self.overlays.holds_clients():
            return lambda turn, event: self._packet(turn, event.client, event.packet)
        return self.sessions.client_packet

    def heartbeat(self, turn: Turn) -> None:
        """Be heard by peers, judge who is not, measure how far they are, and watch topics."""
        self.conversations.tick(turn)
        self.round_trips.tick(turn)
        self.topic_watch.tick(turn)

    def sweep(self, turn: Turn) -> None:
        """Forget entries, streams and topics that nobody uses; they may be read again."""
        self.directory.sweep(turn)
        self.retained_store.sweep(turn)
        # A stream stays open for less than this after its origin named it.
        before_us = turn.now_us - self._settings.outgoing.quiet.quiet_us
        self.interest.forget_found(turn, before_us=before_us, in_use=self.incoming.topics())
        self.interest.forget_left(turn)

    def _all_handlers(self) -> Handlers:
        return (
            *self.removals.handlers(),
            *self.admission.handlers(),
            *self.directory.handlers(),
            *self.outgoing.handlers(),
            *self.retained_store.handlers(),
            *self.retained.handlers(),
            *self.shared_member.handlers(),
            *self.shared_keeper.handlers(),
            *self.full_queues.handlers(),
            *self.incoming.handlers(),
            *self.interest.handlers(),
            *self.liveness.handlers(),
            *self.round_trips.handlers(),
            *self.overlays.handlers(),
            *self.moving.handlers(),
            on(AllPassed, self._all_passed),
        )

    def stays_here(self, now_us: int, topic: str) -> bool:
        """True if what is published here on a topic now is for clients of this broker alone."""
        return self.outgoing.open_until_us(topic) >= now_us and not self.leaves_here(topic)

    def leaves_here(self, topic: str) -> bool:
        """True if what is published here on a topic is known to be for others, too."""
        return (
            any(name != self._me for name in self.outgoing.receivers_of(topic))
            or self.shared_keeper.takes(topic)
            or self._seen_log is not None
            or self.overlays.adaptation.counts_clients
        )

    def _build(self, incarnation: int) -> None:
        settings = self._settings
        self._build_network(incarnation)
        self.outgoing = Outgoing(
            settings.outgoing,
            self.directory,
            conversations=self.conversations,
            emit=self.forwarding.send_out,
            is_removed=self.removals.is_removed,
            unpassed=self._unpassed,
            me=self._me,
        )
        self._build_retained(incarnation)
        self.interest = Interest(
            self.directory,
            self.forwarding,
            conversations=self.conversations,
            incarnation=incarnation,
            slices=self.slices,
        )
        self._build_shared(incarnation)
        self.sessions = Sessions(
            self._me,
            incarnation,
            settings.sessions,
            Outside(
                outgoing=self.outgoing,
                interest=self.interest,
                retained_store=self.retained_store,
                publish=self._publish,
                publish_qos0=self._publish_qos0,
                publish_elsewhere=self._publish_elsewhere,
                carry=self._carry,
                stays_here=self.stays_here,
                handed_out=self._handed_out,
                find_retained=self._find_retained,
                shared=self.shared_member,
                unwant=self._unwant,
                remember=self._remember,
                full=self.full_queues,
                slices=self.slices,
            ),
        )
        self.incoming: Incoming = Incoming(
            self._me,
            settings.incoming,
            conversations=self.conversations,
            deliver=self._deliver,
            is_informed=self.interest.is_informed,
            is_known_by=self.interest.is_known_by,
            is_removed=self.removals.is_removed,
            wants=self.interest.wants,
        )
        self._build_moving(incarnation)
        self._build_ways(incarnation)

    def _build_network(self, incarnation: int) -> None:
        """What all other machines stand on: who is there, and who says what."""
        self.conversations = self._new_links(incarnation)
        self.removals = Removals(
            self._me,
            self._founders,
            self._settings.removal,
            incarnation=incarnation,
            send=self.conversations.send,
        )
        self.directory = Directory(
            self._me,
            self.removals,
            self._settings.directory,
            replica_count=self._replica_count,
            conversations=self.conversations,
            incarnation=incarnation,
        )
        self.forwarding = ForwardingByEpoch()
        self.admission = Admission(
            self.removals,
            replica_count=self._replica_count,
            conversations=self.conversations,
            incarnation=incarnation,
        )
        self.liveness = Liveness(
            self._me,
            self._founders,
            incarnation,
            send=self.conversations.send,
            neighbours=self.forwarding.neighbours,
            in_force=lambda: self.overlays.change.epoch,
        )
        self.round_trips = RoundTrips(
            self._me, self._settings.round_trips, self.conversations, self.liveness
        )
        self.full_queues = FullQueues(
            self._me,
            self._settings.full_queues,
            send=self.conversations.send,
            others=self._others,
            rights=self._settings.sessions.rights,
        )

    def _build_retained(self, incarnation: int) -> None:
        self.retained_store = RetainedStore(
            self._settings.retained_store,
            self.directory,
            self.outgoing,
            writer=lambda: self.removals.seat,
        )
        self.retained = Retained(
            self.removals,
            self.directory,
            conversations=self.conversations,
            incarnation=incarnation,
            slices=self.slices,
        )

    def _new_links(self, incarnation: int) -> Conversations:
        return Conversations(
            self._me,
            2 * incarnation,
            self._settings.conversations,
            handlers=self._handlers,
        )

    def _build_shared(self, incarnation: int) -> None:
        self.shared_member = SharedMember(
            self.removals,
            send=self.conversations.send,
            take=self._take_shared,
            incarnation=incarnation,
        )
        self.shared_keeper = SharedKeeper(
            self._me,
            SharedRoom(self._settings.shared, self.full_queues),
            self.removals,
            send=self.conversations.send,
            want=self.interest.add,
            unwant=self._unwant,
            remember=self._remember,
            is_lost=self.conversations.is_lost,
            incarnation=incarnation,
        )

    def _build_moving(self, incarnation: int) -> None:
        site = Site(
            me=self._me,
            incarnation=incarnation,
            conversations=self.conversations,
            removals=self.removals,
            liveness=self.liveness,
            round_trips=self.round_trips,
            directory=self.directory,
            interest=self.interest,
            incoming=self.incoming,
            outgoing=self.outgoing,
            retained_store=self.retained_store,
            sessions=self.sessions,
            shared_keeper=self.shared_keeper,
            packet=self._packet,
            relink=self.relink,
        )
        settings = self._settings
        self.moving: Moving = Moving(site, settings.moving, settings.mobility, settings.placement)
        self._seen_log = self.moving.seen_log

    def _build_ways(self, incarnation: int) -> None:
        ground = Ground(
            me=self._me,
            incarnation=incarnation,
            conversations=self.conversations,
            removals=self.removals,
            liveness=self.liveness,
            outgoing=self.outgoing,
            interest=self.interest,
            sessions=self.sessions,
            moving=self.moving,
            arrived=self._arrived,
            relink=self.relink,
        )
        self.overlays: Overlays = Overlays(self._overlay, self._settings, self.forwarding, ground)
        self.topic_watch = TopicWatch(self.outgoing, self.liveness, self.overlays.change.in_force)

    def pass_restored(self, turn: Turn) -> None:
        """After a crash: give local sessions publications that had waited for others elsewhere."""
        kept = self.retained_store.kept()
        for number, publication in may_wait(kept, self.incoming.last_of_own):
            self._pass_here(turn, number, publication)
        ordering = self.outgoing.ordering
        ordered = [one for one in kept if ordering.takes(one[1].topic)]
        for number, publication in in_order_of_taking(ordered):
            ordering.taken(number, publication)

    def _publish(self, turn: Turn, publication: Publication, accepted: Action) -> None:
        """Take a publication: local sessions get it now, other brokers once it is on disk."""
        number = self._publish_elsewhere(turn, publication, accepted)
        self._pass_here(turn, number, publication)

    def _publish_elsewhere(self, turn: Turn, publication: Publication, accepted: Action) -> int:
        """Take a publication for other brokers; returns its number."""
        number = self.retained_store.publish(turn, publication, accepted)
        if self.outgoing.ordering.takes(publication.topic):
            self.outgoing.ordering.taken(number, publication)
        return number

    def _publish_qos0(self, turn: Turn, publication: Publication) -> None:
        """Take a publication of QoS 0; keep it like QoS 1 if its topic has an order with others."""
        if self.outgoing.ordering.takes(publication.topic):
            self._publish(turn, publication, nothing)
            return
        self.retained_store.publish_qos0(turn, publication)
        self._pass_here(turn, 0, publication)

    def _pass_here(self, turn: Turn, number: int, publication: Publication) -> None:
        """Give a publication that entered here to local sessions, on disk in the same batch."""
        if self._seen_log is not None and number:
            self._seen_log.note(publication)
        self.overlays.entered(publication)
        if self.interest.wants(publication.topic):
            behind = () if self.outgoing.ordering.takes(publication.topic) else None
            self.incoming.take_own(turn, StreamFrame(self._me, number, publication, (), behind))

    def _unpassed(self, topic: str) -> list[int]:
        return self.incoming.unpassed(topic)

    def _find_retained(
        self, turn: Turn, wanted: Filter, *, found: Found, answered: Action, complete: Action
    ) -> None:
        """Look up retained messages, once those that were acknowledged here are stored."""
        find = partial(
            self.retained.find, wanted=wanted, found=found, answered=answered, complete=complete
        )
        self.retained_store.when_stored(turn, wanted, find)

    def _carry(self, turn: Turn, publication: Publication) -> None:
        """Send other brokers a publication of QoS 0 that local clients have got already."""
        self.overlays.entered(publication)
        self.incoming.passed_qos0(publication)
        self.forwarding.send_out(turn, StreamFrame(self._me, 0, publication))

    def _handed_out(self, sent: SentRun) -> None:
        """Note that local clients have got a run that no other broker wants."""
        last = sent.sequence + sent.run.count - 1
        self.incoming.passed_qos1(sent.publisher, sent.run.topic, last)

    def _arrived(self, turn: Turn, frame: StreamFrame) -> None:
        """A frame is here; whoever relays only, has nobody who wants it.

        One that was published here comes back to who was given it before, or came too late for it.
        """
        if frame.origin == self._me:
            return
        publication = frame.publication
        if self._seen_log is not None and frame.number:
            self._seen_log.note(publication)
        if self.interest.wants(publication.topic):
            self.incoming.arrive(turn, frame)

    def _deliver(self, turn: Turn, frame: StreamFrame) -> bool:
        """Give a publication to local sessions and groups; True if that wrote to disk."""
        publication = frame.publication
        if publication.count > 1 and not (
            self.sessions.run_delivery.takes_plain(publication)
            and not self.shared_keeper.takes(publication.topic)
        ):
            for one in single_publications(publication):
                self._deliver(turn, StreamFrame(frame.origin, 0, one))
            return False
        wrote = self.sessions.deliver(turn, frame)
        return self.shared_keeper.deliver(turn, frame) or wrote

    def _others(self) -> list[str]:
        """All brokers but this one that belong to the network."""
        return [name for name in self.removals.present if name != self._me]

    def _take_shared(
        self, turn: Turn, client: str, hand: tuple[str, int], publication: Publication
    ) -> bool:
        return self.sessions.take_shared(turn, client, hand, publication)

    def _unwant(self, turn: Turn, wanted: Filter) -> None:
        """Drop a filter. Later subscribers must not get copies sent before they subscribed."""
        if self._unwanted:
            self._unwanted.append(wanted)
        elif self._unwanting.counts(turn) < PIECE:
            self.interest.remove(turn, wanted)
            self.incoming.forget_unwanted(turn)
        else:
            self._unwanted.append(wanted)
            self.slices.add(turn, self._unwant_some)

    def _unwant_some(self, turn: Turn) -> bool:
        for _ in range(min(PIECE, len(self._unwanted))):
            self.interest.remove(turn, self._unwanted.popleft())
        self.incoming.forget_unwanted(turn)
        return bool(self._unwanted)

    def _remember(self, turn: Turn, topic: str) -> None:
        self.incoming.remember(turn, topic)

    def _all_passed(self, turn: Turn, peer: str, message: AllPassed) -> None:
        self.incoming.all_passed(turn, peer, message)
        self.shared_member.all_passed(turn, peer, message.number)

    def _know_roll(self, turn: Turn) -> None:
        if self.liveness.know(self.removals.brokers):
            turn.facts.alive_changed.tell(turn, self.liveness.alive())

    def _packet(self, turn: Turn, client: str, packet: Any) -> None:
        """Take a packet, unless it is for the client's home elsewhere, or has to wait here."""
        if not self.moving.passes_on(turn, client, packet) and not self.overlays.holds(
            client, packet
        ):
            self.sessions.packet(turn, client, packet)
