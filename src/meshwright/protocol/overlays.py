"""Joins the machines that carry frames on overlays and those that change overlays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.model.publication import Publication
from meshwright.protocol.adaptation import self_adaptation
from meshwright.protocol.adaptation.own_clients import OwnClients
from meshwright.protocol.adaptation.self_adaptation import AdaptationAround, SelfAdaptation
from meshwright.protocol.adaptation.star_around import StarSettings
from meshwright.protocol.adaptation.star_master import Ended
from meshwright.protocol.adaptation.stars import Stars, StarsAround
from meshwright.protocol.forwarding.acyclic.acyclic import Acyclic
from meshwright.protocol.forwarding.by_epoch import ForwardingByEpoch
from meshwright.protocol.forwarding.forwarding import Forwarding, ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.machines import FRAMES, TELLINGS, machine_for
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mobility.moving import Moving
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.liveness import Liveness
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.reconfiguration import blocking, bundles
from meshwright.protocol.reconfiguration.blocking import Blocking, BlockingAround
from meshwright.protocol.reconfiguration.bundles import Bundles
from meshwright.protocol.reconfiguration.conversation_marks import ConversationMarks
from meshwright.protocol.reconfiguration.draining import note_lost
from meshwright.protocol.reconfiguration.messages import Bundle
from meshwright.protocol.reconfiguration.reconfigure import Around, Reconfigure
from meshwright.protocol.reconfiguration.tree_rows import Link
from meshwright.protocol.sessions.sessions import Sessions
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.interest import Interest
from meshwright.protocol.streams.outgoing import Outgoing

Links = tuple[Link, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The broker around: the machines below, and what carrying frames asks of those above.

    arrived: takes a frame that has come here. relink: stay connected with the brokers that matter.
    """

    me: str
    incarnation: int
    conversations: Conversations
    removals: Removals
    liveness: Liveness
    outgoing: Outgoing
    interest: Interest
    sessions: Sessions
    moving: Moving
    arrived: Callable[[Turn, StreamFrame], None]
    relink: Action


class Overlays:
    """The overlays in use: forwarding on them, and changes from one to the next."""

    def __init__(
        self,
        overlay: Overlay,
        settings: BrokerSettings,
        forwarding: ForwardingByEpoch,
        ground: Ground,
    ) -> None:
        me = ground.me
        self._forwarding = forwarding
        self._ground = ground
        self._conversation_marks = ConversationMarks(ground.conversations.progress)
        self._bundles = Bundles(
            me,
            settings.reconfigure.gather_us,
            self._conversation_marks,
            send=ground.conversations.send,
        )
        around = Around(
            send=ground.conversations.send,
            removals=ground.removals,
            make=self._make,
            fill=self._fill,
            conversations=ground.conversations,
            conversation_marks=self._conversation_marks,
            release=self._bundles.release,
            unmake=self._bundles.drop,
            alive=ground.liveness.alive,
            ask_dead=ground.liveness.ask_dead,
            relink=ground.relink,
            step_aside=lambda turn: self._stars.disturbed(turn, "the overlay is being changed"),
            block=self._block,
        )
        self.change = Reconfigure(me, overlay, settings.reconfigure, self._forwarding, around)
        adaptation_around = AdaptationAround(
            in_force=self._in_force,
            alive=ground.liveness.alive,
            is_free=lambda: not self.is_changing,
            clients=OwnClients(ground.interest, ground.sessions, ground.moving),
            propose=self._propose,
        )
        self.adaptation = SelfAdaptation(me, settings.adaptation, adaptation_around)
        self._stars = self._join_stars(settings.stars)
        blocking_around = BlockingAround(
            send=ground.conversations.send,
            make=self._make,
            fill=self._fill,
            in_force=self._in_force,
            adopt=self.change.adopt,
            do=ground.sessions.packet,
            send_singly=self._bundles.send_singly,
        )
        patience_us = settings.reconfigure.patience_us
        self._blocking = Blocking(me, patience_us, self._forwarding, blocking_around)

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            *self.change.handlers(),
            *self._blocking.handlers(),
            *self._stars.handlers(),
            on(Bundle, self._unbundle),
            *(on(one, self._forwarding.handle) for one in FRAMES),
            *(on(one, self._told) for one in TELLINGS),
        )

    def timers(self) -> dict[str, Callable[[Turn], None]]:
        """Which timer is for which method."""
        return {
            bundles.BUNDLE[0]: self._bundles.flush,
            **self.change.timers(),
            **self._stars.timers(),
            blocking.LET_GO[0]: self._blocking.let_go,
            self_adaptation.LOOK[0]: self.adaptation.look,
        }

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start: begin with the overlay that was in force."""
        self.change.restore(turn, disk)
        self._stars.restore(disk)
        self.adaptation.restore(disk)

    def started(self, turn: Turn) -> None:
        """All machines are built: begin to look for an overlay, and to adapt it."""
        self.change.entering.started(turn)
        self.adaptation.started(turn)
        self._stars.started(turn)

    @property
    def is_changing(self) -> bool:
        """Whether this broker takes part in a change, of the overlay or of a star in it."""
        return not self.change.is_free or self._stars.is_bound

    def entered(self, publication: Publication) -> None:
        """A client has published here; its way is counted if clients may move."""
        if self.adaptation.counts_clients:
            machine = self._forwarding.machine(self.change.epoch)
            links = machine.wanting(publication) if isinstance(machine, Acyclic) else ()
            self.adaptation.entered(publication, links)

    @property
    def star(self) -> str | None:
        """The change of a star in which this broker takes part, if any."""
        return self._stars.bound_to

    def neighbours(self) -> set[str]:
        """Brokers to stay connected with."""
        return {*self._forwarding.neighbours(), *self.change.watched()}

    def holds(self, client: str, packet: Any) -> bool:
        """True if the blocking protocol keeps a client's packet until its change is done."""
        return self._blocking.holds(client, packet)

    def holds_clients(self) -> bool:
        """True while a change holds clients up."""
        return self._blocking.is_holding

    def client_gone(self, _turn: Turn, client: str) -> None:
        """Forget packets kept for a client that is gone: it sends them again."""
        self._blocking.forget(client)

    def before_peer_renewed(self, _turn: Turn, peer: str) -> None:
        """A conversation begins anew: what was noted of the former one is void."""
        self._conversation_marks.forget(peer)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer may have forgotten what it was told."""
        self.change.peer_renewed(turn, peer)
        self._stars.peer_renewed(turn, peer)
        self.change.building.peer_renewed(turn, peer)

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        """Other brokers are seen alive."""
        self._stars.alive_changed(turn)
        self._forwarding.for_each(lambda machine: machine.alive_changed(turn, alive))
        self._ground.relink(turn)
        self.change.coordinator.alive_changed(turn)

    def unknown_epoch(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        """A message of an overlay that is not known here."""
        if message.epoch < self.change.epoch and type(message) in FRAMES:
            note_lost(turn, message)
        if not self._blocking.takes(turn, peer, message):
            self.change.laggards.unknown(turn, peer, message.epoch)

    def switched(self, turn: Turn, epoch: int, _moves: tuple[ClientMove, ...]) -> None:
        """Another overlay is in force: what was begun on the former one is over."""
        self.adaptation.switched()
        self._stars.epoch_changed(turn)
        self._blocking.overtaken(turn, epoch)

    def _make(self, turn: Turn, epoch: int, overlay: Overlay) -> Forwarding:
        """Make the forwarding machine of an overlay, and tell it who is alive."""
        ground, in_force = self._ground, self.change.in_force
        surroundings = Surroundings(
            me=ground.me,
            epoch=epoch,
            overlay=overlay,
            send=ground.conversations.send,
            tell=self._bundles.tell,
            arrived=ground.arrived,
            receivers_of=ground.outgoing.receivers_of,
            carried=self.adaptation.counter(epoch),
            version=in_force.versions.get(ground.me, 0) if epoch == in_force.epoch else 0,
        )
        machine = machine_for(surroundings)
        machine.alive_changed(turn, ground.liveness.alive())
        return machine

    def _fill(self, turn: Turn, epoch: int, ready: Action) -> None:
        """Have the overlay of an epoch carry all that is wanted here."""
        ground = self._ground
        topics = ground.interest.found_topics()
        self._forwarding.fill(turn, epoch, ground.interest.filters(), topics=topics, ready=ready)

    def _told(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        self._conversation_marks.heard(message.epoch, peer)
        self._forwarding.handle(turn, peer, message)

    def _unbundle(self, turn: Turn, peer: str, bundle: Bundle[Any]) -> None:
        if self._blocking.changes_to(bundle.epoch):
            for message in bundle.messages:
                self._told(turn, peer, message)
        else:
            self.change.building.heard(turn, peer, bundle)

    def _in_force(self) -> tuple[int, Overlay]:
        return self.change.epoch, self.change.in_force.overlay

    def _propose(self, turn: Turn, removed: Links, added: Links, ended: Ended) -> str:
        return self._stars.begin(turn, removed, added, ended)

    def _join_stars(self, settings: StarSettings) -> Stars:
        ground, change = self._ground, self.change
        around = StarsAround(
            send=ground.conversations.send,
            tell=self._bundles.tell,
            machine=lambda: self._forwarding.machine(change.epoch),
            alive=ground.liveness.alive,
            is_free=lambda: change.is_free,
            other_epoch=change.laggards.heard_epoch,
            renew=change.requests.renew,
            relink=ground.relink,
            redrawn=self.adaptation.redrawn,
        )
        return Stars(ground.me, ground.incarnation, settings, change.in_force, around)

    def _block(self, turn: Turn, epoch: int, plan: str, target: Overlay) -> None:
        self._blocking.begin(turn, epoch, plan, target)
