"""Joins the machines for clients that move, as the network's mobility policies say.

Connections of clients come in here (client_up, client_down); packets of a client whose session is
at another broker leave here (passes_on).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.model.plan import ClientMove
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey, Effect
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mobility import (
    arriving,
    departing,
    emptying,
    moving_members,
    pace,
    placement,
    publish_barriers,
    redirects,
    session_claims,
    watching,
)
from meshwright.protocol.mobility.arriving import Arriving
from meshwright.protocol.mobility.departing import Departing
from meshwright.protocol.mobility.discards import Discards
from meshwright.protocol.mobility.emptying import Emptying, EmptyingAround
from meshwright.protocol.mobility.messages import (
    Discard,
    DiscardDone,
    MoveAsk,
    MoveCancelled,
    MoveDone,
    MoveOffer,
    MovingSettings,
)
from meshwright.protocol.mobility.moving_members import MovingMembers
from meshwright.protocol.mobility.pace import Pace
from meshwright.protocol.mobility.placement import Placement, PlacementAround, PlacementSettings
from meshwright.protocol.mobility.policies import MobilitySettings
from meshwright.protocol.mobility.prefetching import Prefetching
from meshwright.protocol.mobility.proxies import Inside, Proxies
from meshwright.protocol.mobility.publish_barriers import PublishBarriers
from meshwright.protocol.mobility.redirects import Redirects
from meshwright.protocol.mobility.seen_log import SeenLog
from meshwright.protocol.mobility.session_claims import SessionClaims
from meshwright.protocol.mobility.watching import Watching
from meshwright.protocol.mqtt import packets
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.liveness import Liveness
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.peers.round_trips import RoundTrips
from meshwright.protocol.retained.store import RetainedStore
from meshwright.protocol.sessions.forgetting import Forgetting
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.sessions import Sessions
from meshwright.protocol.shared.keeper import SharedKeeper
from meshwright.protocol.streams.incoming import Incoming
from meshwright.protocol.streams.interest import Interest
from meshwright.protocol.streams.outgoing import Outgoing


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What moving needs of the rest of the broker.

    packet: takes a packet of a client.
    relink: recomputes with which brokers to stay connected.
    """

    me: str
    incarnation: int
    conversations: Conversations
    removals: Removals
    liveness: Liveness
    round_trips: RoundTrips
    directory: Directory
    interest: Interest
    incoming: Incoming
    outgoing: Outgoing
    retained_store: RetainedStore
    sessions: Sessions
    shared_keeper: SharedKeeper
    packet: Callable[[Turn, str, Any], None]
    relink: Action

    def others(self) -> tuple[str, ...]:
        """The other brokers that are believed alive."""
        return tuple(one for one in self.liveness.alive() if one != self.me)

    def is_alive(self, name: str) -> bool:
        """True if a broker is believed alive."""
        return name in self.liveness.alive()


class Moving:
    """All machines for clients that move; seen_log: only if a policy asks what was seen."""

    def __init__(
        self,
        site: Site,
        settings: MovingSettings,
        mobility: MobilitySettings,
        placement_settings: PlacementSettings,
    ) -> None:
        self._site = site
        self._sessions = site.sessions
        logs = mobility.has("logging") or mobility.has("watching")
        self.seen_log = SeenLog(mobility.log_max) if logs else None
        self._prefetching = self._new_prefetching(mobility)
        self._watching = self._new_watching(mobility)
        self.pace = Pace(settings.clients_per_second, settings.notice_us)
        self.emptying = Emptying(
            site.sessions,
            self.pace,
            EmptyingAround(
                send=site.conversations.send,
                others=site.others,
                publication_count=site.retained_store.log_length,
            ),
        )
        self._redirects = Redirects(
            site.me,
            site.sessions,
            self.pace,
            send=site.conversations.send,
            is_alive=site.is_alive,
        )
        self._placement = self._new_placement(placement_settings)
        self._proxies = self._new_proxies()
        self.guests = self._proxies.guests
        self._left = PublishBarriers(
            site.sessions, send=site.conversations.send, points_of=site.retained_store.points_of
        )
        self._session_claims = SessionClaims(
            site.me,
            site.incarnation,
            site.directory,
            rest_us=settings.claim_rest_us,
            is_here=self._is_here,
            left=self._redirects.forget,
        )
        self._discards = Discards(site.conversations, site.removals.is_removed)
        self._departing = Departing(
            site.me,
            settings,
            self._session_claims,
            site.directory,
            site.sessions,
            conversations=site.conversations,
            discard=self._discards.tell,
            passed_numbers=site.incoming.passed_numbers,
            left=self._left,
            is_removed=site.removals.is_removed,
            asks_what_was_seen=self.seen_log is not None,
            incarnation=site.incarnation,
        )
        self._arriving = self._new_arriving(settings, mobility)
        self._moving_members = self._new_moving_members()
        self.forgetting = Forgetting(
            site.sessions,
            is_moving=self._is_moving,
            stay_here=self._departing.client_back,
        )

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            *self._arriving.handlers(),
            *self._departing.handlers(),
            *self._left.handlers(),
            *self._proxies.handlers(),
            *self._placement.handlers(),
            *self._watching.handlers(),
            *self._moving_members.handlers(),
            on(MoveAsk, self._asked),
            on(MoveDone, self._done),
            on(MoveOffer, self._offered),
            on(MoveCancelled, self._cancelled),
            on(Discard, self._discarded),
            on(DiscardDone, self._discard_done),
        )

    def timers(self) -> dict[str, Callable[[Turn], None]]:
        """Map each timer to its method."""
        return {
            session_claims.TICK[0]: self._session_claims.tick,
            arriving.TICK[0]: self._arriving.tick,
            departing.TICK[0]: self._departing.tick,
            publish_barriers.TICK[0]: self._left.tick,
            redirects.TICK[0]: self._redirects.tick,
            emptying.TICK[0]: self.emptying.tick,
            pace.TICK[0]: self.pace.tick,
            placement.TICK[0]: self._placement.tick,
            placement.ASK[0]: self._placement.answer,
            watching.TICK[0]: self._watching.tick,
            moving_members.TICK[0]: self._moving_members.tick,
        }

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start, go on with moves that were under way."""
        self._session_claims.restore(self._sessions.all())
        self._departing.restore(turn, disk)
        self._redirects.restore(turn, disk)
        self.emptying.restore(turn, disk)
        self._placement.started(turn)
        self._moving_members.wake(turn)

    def plan_in_force(self, turn: Turn, epoch: int, moves: tuple[ClientMove, ...]) -> None:
        """A plan that is in force moves clients: send away those that are here."""
        self._redirects.begin(turn, epoch, moves)

    def roll_changed(self, turn: Turn) -> None:
        """Brokers were removed: wait for none of them."""
        self._discards.roll_changed()
        self._departing.roll_changed(turn)
        self._arriving.roll_changed(turn)

    def begin_anew(self, turn: Turn) -> None:
        """End all sessions here, as the network has gone on without this broker.

        It was removed, so its sessions have missed messages.
        """
        self._departing.forget_all(turn)
        self._watching.end_all(turn)
        for session in self._sessions.all():
            self._sessions.take_over(turn, session)
            if self._sessions.find(session.client) is session:
                self._sessions.end(turn, session)

    def peers(self) -> set[str]:
        """The brokers to stay connected with because of proxies."""
        return self._proxies.peers()

    def client_up(self, turn: Turn, client: str, packet: packets.Connect) -> None:
        """A client's CONNECT came: refuse, redirect, or find its session."""
        self._proxies.local_up(turn, client)
        self._accept(turn, client, packet)

    def has_proxies(self) -> bool:
        """True while a client here has its session elsewhere, or the other way round."""
        return bool(self._proxies.homes or self.guests)

    def has_homes(self) -> bool:
        """True while a client that is connected here has its session at another broker."""
        return bool(self._proxies.homes)

    def passes_on(self, turn: Turn, client: str, packet: Any) -> bool:
        """Send a packet to the broker with the client's session; False if that is this one."""
        return self._proxies.passed_on(turn, client, packet)

    def client_down(self, turn: Turn, client: str, *, is_clean: bool) -> None:
        """A client's connection is gone."""
        turn.facts.client_gone.tell(turn, client)
        if self._proxies.down(turn, client, is_clean=is_clean):
            return
        self._arriving.gone(turn, client)
        self._sessions.disconnect(turn, client, clean=is_clean)
        if self._sessions.find(client) is None:
            self._redirects.forget(client)
        if self._prefetching is not None:
            self._prefetching.disconnected(turn, client)
        if self._watches:
            self._watching.disconnected(turn, client)

    def subscriptions_changed(self, turn: Turn, client: str) -> None:
        """A client wants other topics: there may be a better broker for it."""
        self._placement.changed(turn, client)

    def may_be_sent(self, client: str) -> bool:
        """True if a client here may be suggested to go to another broker."""
        return self._redirects.may_be_sent(client)

    def suggest(self, turn: Turn, client: str, target: str) -> bool:
        """Send a client once to where it is better off; False if it must stay."""
        return self._redirects.suggest(turn, client, target)

    def staying(self) -> dict[str, int]:
        """Connected clients that could not be sent to another broker, by the reason."""
        return self._redirects.staying()

    def why_stays(self, session: Session) -> str | None:
        """Why a connected client could not be sent to another broker; None if it could."""
        return self._redirects.why_stays(session)

    def session_over(self, turn: Turn, client: str) -> None:
        """A client's session has ended here: its claim ends after a while."""
        self._session_claims.over(turn, client)
        self._watching.found(turn, client)

    def member_moving(self, turn: Turn) -> None:
        """A group that is kept here waits for a member."""
        self._moving_members.wake(turn)

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """A peer has been silent for too long: end proxied connections through it."""
        self._proxies.peer_gone(turn, peer)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A conversation began anew: repeat questions that the peer may have forgotten."""
        self._arriving.peer_renewed(turn, peer)
        self._departing.peer_renewed(turn, peer)
        self._discards.peer_renewed(turn, peer)
        self._proxies.peer_gone(turn, peer)

    def redirected(self, turn: Turn) -> list[Effect]:
        """The step's effects, with packets for clients that are elsewhere sent there."""
        return self._proxies.redirected(turn)

    def _is_here(self, client: str) -> bool:
        """True if a client's session is here, or is on its way in or out."""
        return (
            self._sessions.find(client) is not None
            or self._arriving.expects(client)
            or self._departing.given_to(client) is not None
        )

    def _is_moving(self, client: str) -> bool:
        """True if another broker may have a client's session, too."""
        return self._departing.given_to(client) is not None or self._arriving.shares(client)

    def _may_be_member(self, client: str, key: str) -> bool:
        """True if a client's session here has a shared subscription, or may get it by a move."""
        session = self._sessions.find(client)
        if session is None or session.is_arriving or session.is_leaving:
            return self._is_here(client)
        return key in session.subscriptions

    def _new_prefetching(self, mobility: MobilitySettings) -> Prefetching | None:
        site = self._site
        if not (mobility.has("prefetching") or mobility.has("watching")):
            return None
        return Prefetching(
            site.me,
            mobility,
            site.sessions,
            send=site.conversations.send,
            is_alive=site.is_alive,
        )

    def _new_moving_members(self) -> MovingMembers:
        return MovingMembers(
            self._site.shared_keeper,
            self._session_claims,
            self._site.removals,
            self._site.conversations,
            may_be_member=self._may_be_member,
        )

    def _new_watching(self, mobility: MobilitySettings) -> Watching:
        site = self._site
        self._watches = mobility.has("watching")
        return Watching(
            site.me,
            mobility,
            site.sessions,
            site.interest,
            conversations=site.conversations,
            liveness=site.liveness,
        )

    def _new_arriving(self, settings: MovingSettings, mobility: MobilitySettings) -> Arriving:
        site = self._site
        return Arriving(
            site.me,
            settings,
            self._session_claims,
            site.sessions,
            arriving.Around(
                conversations=site.conversations,
                outgoing=site.outgoing,
                discard=self._discards.tell,
                is_removed=site.removals.is_removed,
                given_to=self._departing.given_to,
                asked=self._asked,
                lodge=self._proxies.open,
                opened=self._opened,
            ),
            mobility=mobility,
            seen_log=self.seen_log,
            incarnation=site.incarnation,
        )

    def _new_proxies(self) -> Proxies:
        site = self._site
        inside = Inside(
            send=site.conversations.send,
            is_lost=site.conversations.is_lost,
            up=self._accept,
            packet=site.packet,
            down=self._down,
            relink=site.relink,
        )
        return Proxies(site.incarnation, inside)

    def _new_placement(self, settings: PlacementSettings) -> Placement:
        site = self._site
        around = PlacementAround(
            send=site.conversations.send,
            cluster=site.round_trips.cluster,
            counts=site.interest.counts,
            is_emptying=lambda: self.emptying.is_on,
        )
        return Placement(site.me, settings, site.sessions, self._redirects, around)

    def _accept(self, turn: Turn, client: str, packet: packets.Connect) -> None:
        is_away = self.emptying.turns_away(turn, client, packet)
        if not is_away and not self._redirects.turns_away(turn, client, packet):
            self._arriving.accept(turn, client, packet)

    def _down(self, turn: Turn, client: str, is_clean: bool) -> None:
        self.client_down(turn, client, is_clean=is_clean)

    def _asked(self, turn: Turn, peer: str, message: MoveAsk) -> None:
        if not self._arriving.put_off(turn, peer, message):
            self._departing.asked(turn, peer, message)

    def _cancelled(self, turn: Turn, peer: str, message: MoveCancelled) -> None:
        self._arriving.cancelled(peer, message.client)
        self._departing.cancelled(turn, peer, message)

    def _discarded(self, turn: Turn, peer: str, message: Discard) -> None:
        self._departing.discarded(turn, message)
        self._arriving.discarded(turn, message)
        done = DiscardDone(message.client, message.claim)
        turn.once_synced(lambda later: self._site.conversations.send(later, peer, done))

    def _discard_done(self, turn: Turn, peer: str, message: DiscardDone) -> None:
        self._discards.done(peer, message)
        self._departing.discard_done(turn, peer, message)

    def _offered(self, turn: Turn, peer: str, message: MoveOffer) -> None:
        if not self.emptying.is_on:
            self._arriving.offered(turn, peer, message)

    def _done(self, turn: Turn, peer: str, message: MoveDone) -> None:
        self._departing.done(turn, peer, message)
        if self._sessions.find(message.client) is None:
            self._redirects.left(turn, message.client, peer)

    def _opened(self, turn: Turn, client: str) -> None:
        self._departing.client_back(turn, client)
        self._placement.connected(turn, client)
        self._watching.found(turn, client)
        if self._prefetching is not None:
            self._prefetching.connected(turn, client)
