"""One broker: what happens goes in, what it asks of the world comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.protocol import (
    incoming,
    links,
    outgoing,
    removals,
    wills,
)
from meshwright.protocol.broker_settings import BrokerSettings
from meshwright.protocol.directory import Directory
from meshwright.protocol.effects import Effect
from meshwright.protocol.happenings import (
    ClientDown,
    ClientPacket,
    ClientUp,
    DiskSpace,
    EmptyingGiven,
    Happening,
    LinkDown,
    LinkUp,
    PeerFrame,
    PlanGiven,
    Started,
    Synced,
    TimerFired,
)
from meshwright.protocol.incoming import Incoming
from meshwright.protocol.interest import Interest
from meshwright.protocol.links import PeerLinks
from meshwright.protocol.membership import Membership
from meshwright.protocol.moving import Moving, Site
from meshwright.protocol.observation import Observation, observed
from meshwright.protocol.outgoing import Outgoing
from meshwright.protocol.removals import Removals
from meshwright.protocol.retained import Retained
from meshwright.protocol.retaining import Retaining
from meshwright.protocol.roads import Roads
from meshwright.protocol.sessions import Outside, Sessions
from meshwright.protocol.shared_keeper import SharedKeeper
from meshwright.protocol.shared_member import SharedMember
from meshwright.protocol.stream import StreamFrame
from meshwright.protocol.turn import Journal, Turn
from meshwright.protocol.ways import Ground, Ways


class Broker:
    """The machines of one broker, joined; the first happening must be Started."""

    def __init__(self, me: str, settings: BrokerSettings, overlay: Overlay) -> None:
        self._me = me
        self._settings = settings
        self._overlay = overlay
        self._journal = Journal()
        self._doors: dict[type, Callable[[Turn, Any], None]] = {Started: self._started}

    def step(self, now_us: int, happening: Happening) -> list[Effect]:
        """Take in what happened, and say what to do about it."""
        turn = Turn(now_us)
        self._doors[type(happening)](turn, happening)
        if turn.changes or turn.once_synced_actions or turn.forgotten:
            self._journal.close(turn)
        return self._moving.redirected(turn) if self._guests else turn.effects

    def observe(self) -> Observation:
        """How the broker stands, for telemetry and checkers; after its start only."""
        lengths = {
            "log": self._retaining.log_length(),
            "client": self._sessions.queue_length(),
            "peer": self._links.queue_length(),
            "held": self._incoming.held_length(),
            "unpromised": self._outgoing.unpromised_length(),
            "group": self._shared_keeper.queue_length(),
        }
        change = self._ways.change
        overlay = change.in_force.overlay
        return observed(self._settings, change.epoch, overlay, change.is_free, lengths)

    def _started(self, turn: Turn, happening: Started) -> None:
        self._build(happening.incarnation)
        self._join_messages()
        self._open_doors()
        disk = happening.disk
        self._removals.restore(disk)
        self._directory.restore(disk)
        self._incoming.restore(disk)
        wanted = [*self._sessions.restore(disk), *self._shared_keeper.restore(disk)]
        self._ways.restore(turn, disk)
        self._relink(turn)
        self._links.tick(turn)
        self._membership.started(turn)
        self._interest.restore(turn, disk, wanted)
        self._outgoing.restore(turn, disk)
        self._retaining.restore(turn, disk)
        self._shared_member.restore(turn, disk, self._sessions.all())
        self._shared_keeper.started(turn)
        self._moving.restore(turn, disk)
        self._sessions.publish_wills(turn)
        self._removals.started(turn)
        self._directory.hand_over(turn)
        self._ways.started(turn)

    def _build(self, incarnation: int) -> None:
        settings = self._settings
        self._build_network(incarnation)
        self._outgoing = Outgoing(
            settings.outgoing,
            self._directory,
            send=self._send,
            emit=self._emit,
            is_removed=self._removals.is_removed,
            me=self._me,
        )
        self._build_retaining(incarnation)
        self._interest = Interest(
            self._directory,
            self._roads,
            send=self._send,
            incarnation=incarnation,
            is_lost=self._links.is_lost,
            informed=self._origins_informed,
        )
        self._build_shared(incarnation)
        self._sessions = Sessions(
            self._me,
            incarnation,
            settings.sessions,
            Outside(
                publish=self._retaining.publish,
                publish_unpromised=self._retaining.publish_unpromised,
                when_settled=self._retaining.when_settled,
                find_retained=self._retained.find,
                shared=self._shared_member,
                want=self._interest.add,
                when_in_force=self._interest.when_in_force,
                unwant=self._interest.remove,
                remember=self._remember,
                log_length=self._retaining.log_length,
            ),
        )
        self._incoming = Incoming(
            self._me,
            settings.incoming,
            send=self._send,
            deliver=self._deliver,
            is_informed=self._interest.is_informed,
            is_removed=self._removals.is_removed,
        )
        self._build_moving(incarnation)
        self._build_ways()

    def _build_network(self, incarnation: int) -> None:
        """What all other machines stand on: who is there, and who says what."""
        self._links = self._new_links(incarnation)
        brokers = self._overlay.brokers
        self._removals = Removals(
            self._me,
            brokers,
            self._settings.removal,
            incarnation=incarnation,
            send=self._send,
            changed=self._roll_changed,
            returned=self._returned,
        )
        self._directory = Directory(
            self._me,
            self._removals,
            self._settings.directory,
            send=self._send,
            incarnation=incarnation,
        )
        self._roads = Roads(unknown=self._unknown_epoch, late=self._passed_on)
        self._membership = Membership(
            self._me,
            brokers,
            incarnation,
            send=self._send,
            neighbours=self._roads.neighbours,
            changed=self._alive_changed,
            in_force=lambda: self._ways.change.epoch,
            heard_epoch=self._heard_epoch,
        )

    def _build_retaining(self, incarnation: int) -> None:
        self._retaining = Retaining(
            self._settings.retaining,
            self._directory,
            self._outgoing,
            writer=self._overlay.brokers.index(self._me),
        )
        self._retained = Retained(
            self._removals,
            self._directory,
            send=self._send,
            is_lost=self._links.is_lost,
            incarnation=incarnation,
        )

    def _new_links(self, incarnation: int) -> PeerLinks:
        return PeerLinks(
            incarnation,
            self._settings.links,
            deliver=self._dispatch,
            lost=self._peer_lost,
            renewed=self._peer_renewed,
        )

    def _build_shared(self, incarnation: int) -> None:
        self._shared_member = SharedMember(
            self._removals,
            send=self._send,
            take=self._take_shared,
            incarnation=incarnation,
        )
        self._shared_keeper = SharedKeeper(
            self._me,
            self._settings.shared,
            self._removals,
            send=self._send,
            want=self._interest.add,
            unwant=self._interest.remove,
            remember=self._remember,
            is_lost=self._links.is_lost,
            incarnation=incarnation,
        )

    def _build_moving(self, incarnation: int) -> None:
        site = Site(
            me=self._me,
            incarnation=incarnation,
            directory=self._directory,
            sessions=self._sessions,
            send=self._send,
            places=self._incoming.places,
            points_of=self._retaining.points_of,
            is_lost=self._links.is_lost,
            is_alive=lambda name: name in self._membership.alive(),
            others=lambda: tuple(one for one in self._membership.alive() if one != self._me),
            publication_count=self._retaining.log_length,
            is_removed=self._removals.is_removed,
            do=self._client_packet,
            went_away=self._went_away,
            relink=self._relink,
        )
        self._moving = Moving(site, self._settings.moving, self._settings.mobility)
        self._guests = self._moving.guests
        self._seen_log = self._moving.seen_log

    def _build_ways(self) -> None:
        ground = Ground(
            me=self._me,
            links=self._links,
            send=self._send,
            alive=self._membership.alive,
            arrived=self._arrived,
            members_of=self._outgoing.members_of,
            wants=self._interest.wants,
            filters=self._interest.filters,
            found_topics=self._interest.found_topics,
            do=self._sessions.packet,
            moves=self._moving.plan_in_force,
            relink=self._relink,
        )
        self._ways: Ways = Ways(self._overlay, self._settings, self._roads, ground)

    def _join_messages(self) -> None:
        self._handlers: dict[type, Callable[[Turn, str, Any], None]] = {
            **self._removals.handlers(),
            **self._directory.handlers(),
            **self._outgoing.handlers(),
            **self._retaining.handlers(),
            **self._retained.handlers(),
            **self._shared_member.handlers(),
            **self._shared_keeper.handlers(),
            **self._incoming.handlers(),
            **self._interest.handlers(),
            **self._membership.handlers(),
            **self._ways.handlers(),
            **self._moving.handlers(),
        }
        self._timers: dict[str, Callable[[Turn], None]] = {
            links.TICK[0]: self._links.tick,
            removals.LOOK[0]: self._removals.look,
            outgoing.TICK[0]: self._outgoing.tick,
            outgoing.FORGET_GONE[0]: self._outgoing.forget_gone,
            incoming.ACKNOWLEDGE[0]: self._incoming.send_acknowledgements,
            **self._ways.timers(),
            **self._moving.timers(),
        }

    def _open_doors(self) -> None:
        peers = self._links
        self._doors = {
            PeerFrame: peers.frame,
            LinkUp: lambda turn, it: peers.link_up(turn, it.peer),
            LinkDown: lambda turn, it: peers.link_down(turn, it.peer),
            ClientUp: lambda turn, it: self._moving.client_up(turn, it.client, it.packet),
            ClientPacket: lambda turn, it: self._moving.packet(turn, it.client, it.packet),
            ClientDown: self._client_down,
            TimerFired: self._timer_fired,
            Synced: self._journal.synced,
            DiskSpace: self._disk_space,
            PlanGiven: self._ways.change.requests.given,
            EmptyingGiven: self._moving.emptying.given,
        }

    def _send(self, turn: Turn, peer: str, body: object) -> None:
        if peer == self._me:
            self._dispatch(turn, peer, body)
        else:
            self._links.send(turn, peer, body)

    def _dispatch(self, turn: Turn, peer: str, body: object) -> None:
        self._handlers[type(body)](turn, peer, body)

    def _emit(self, turn: Turn, frame: StreamFrame) -> None:
        """A frame of this origin: for those here, and out to the others."""
        self._arrived(turn, frame)
        self._roads.send_out(turn, frame)

    def _arrived(self, turn: Turn, frame: StreamFrame) -> None:
        """A frame is here; whoever relays only, has nobody who wants it."""
        publication = frame.publication
        if self._seen_log is not None and frame.number:
            self._seen_log.note(publication)
        if self._interest.wants(publication.topic):
            self._incoming.arrive(turn, frame)

    def _deliver(self, turn: Turn, frame: StreamFrame) -> bool:
        """Give a publication to everybody here; True if that wrote to disk."""
        wrote = self._sessions.deliver(turn, frame)
        return self._shared_keeper.deliver(turn, frame) or wrote

    def _origins_informed(self, turn: Turn) -> None:
        self._incoming.origins_informed(turn)

    def _take_shared(
        self, turn: Turn, client: str, hand: tuple[str, int], publication: Publication
    ) -> bool:
        return self._sessions.take_shared(turn, client, hand, publication)

    def _remember(self, turn: Turn, topic: str) -> None:
        self._incoming.remember(turn, topic)

    def _timer_fired(self, turn: Turn, happening: TimerFired) -> None:
        kind = happening.key[0]
        if kind == links.TICK[0]:
            self._journal.forget(turn)
        if kind == wills.TIMER:
            self._sessions.due(turn, happening.key[1])
        elif kind in self._timers:
            self._timers[kind](turn)
        else:
            self._roads.timer_fired(turn, happening.key)

    def _client_packet(self, turn: Turn, client: str, packet: object) -> None:
        self._ways.packet(turn, client, packet)

    def _went_away(self, client: str) -> None:
        self._ways.client_down(client)

    def _client_down(self, turn: Turn, happening: ClientDown) -> None:
        self._moving.client_down(turn, happening.client, is_clean=happening.clean)

    def _disk_space(self, _turn: Turn, happening: DiskSpace) -> None:
        self._sessions.publishing.disk_is_full = happening.is_full

    def _peer_lost(self, turn: Turn, peer: str) -> None:
        self._membership.peer_lost(turn, peer)
        self._interest.peer_lost(turn, peer)
        self._retained.peer_lost(turn, peer)
        self._shared_keeper.peer_lost(turn, peer)
        self._moving.peer_lost(turn, peer)

    def _peer_renewed(self, turn: Turn, peer: str) -> None:
        self._ways.before_peer_renewed(peer)
        self._membership.peer_renewed(turn, peer)
        self._removals.peer_renewed(turn, peer)
        self._directory.peer_renewed(turn, peer)
        self._interest.peer_renewed(turn, peer)
        self._outgoing.peer_renewed(turn, peer)
        self._retained.peer_renewed(turn, peer)
        self._shared_member.peer_renewed(turn, peer)
        self._shared_keeper.peer_renewed(turn, peer)
        self._incoming.peer_renewed(turn, peer)
        self._moving.peer_renewed(turn, peer)
        self._ways.peer_renewed(turn, peer)

    def _alive_changed(self, turn: Turn) -> None:
        alive = self._membership.alive()
        self._ways.alive_changed(turn, alive)
        self._removals.alive_changed(turn, alive)

    def _roll_changed(self, turn: Turn) -> None:
        """Brokers were removed for good, or returned after all."""
        self._directory.roll_changed(turn)
        self._outgoing.roll_changed(turn)
        self._incoming.roll_changed(turn)
        self._retained.roll_changed(turn)
        self._shared_keeper.roll_changed(turn)
        self._shared_member.roll_changed(turn)
        self._moving.roll_changed(turn)

    def _returned(self, turn: Turn) -> None:
        """This broker was removed, and is here after all."""
        self._shared_keeper.forget_all(turn)
        self._moving.begin_anew(turn)

    def _unknown_epoch(self, turn: Turn, peer: str, message: Any) -> None:
        self._ways.unknown_epoch(turn, peer, message)

    def _passed_on(self, turn: Turn) -> None:
        self._ways.change.draining.passed_on(turn)

    def _heard_epoch(self, turn: Turn, peer: str, epoch: int) -> None:
        self._ways.change.laggards.heard_epoch(turn, peer, epoch)

    def _relink(self, turn: Turn) -> None:
        """Stay connected with neighbours, with all while a plan is led here, and for proxies."""
        kept = {*self._ways.neighbours(), *self._moving.peers()}
        self._links.keep(turn, sorted(kept - {self._me}))
