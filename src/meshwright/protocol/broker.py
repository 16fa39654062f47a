"""One broker: events go in, effects come out, and nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from meshwright.model.overlay import Overlay
from meshwright.protocol import joining
from meshwright.protocol.assembly import Machines
from meshwright.protocol.directory.directory import REPLICAS, founding_replica_count
from meshwright.protocol.foundation import slices
from meshwright.protocol.foundation.dispatch import on_event, table_of
from meshwright.protocol.foundation.effects import DiskKey, Effect
from meshwright.protocol.foundation.events import (
    ClientDown,
    ClientPacket,
    ClientUp,
    DiskSpace,
    EmptyingGiven,
    Event,
    ForgettingGiven,
    HoldingGiven,
    LinkDown,
    LinkUp,
    PeerEnvelope,
    PlanGiven,
    RightsChanged,
    Started,
    Synced,
    SystemPublished,
    TimerFired,
)
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Journal, Turn, nothing
from meshwright.protocol.inspection import BrokerView, Departures, inspect
from meshwright.protocol.joining import Applicant
from meshwright.protocol.observation import Observation, observed, queue_bounds
from meshwright.protocol.peers import conversations, removals
from meshwright.protocol.sessions import full_queues, wills
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.shortcuts import Shortcuts
from meshwright.protocol.streams import incoming, outgoing, quiet_streams


class Broker:
    """The machines of one broker behind one door; the first event must be Started.

    founders: the brokers with which the network began, by default those of the overlay. A broker
    that is not one of them, and has not joined before, begins by asking one of them to let it in.
    """

    def __init__(
        self,
        me: str,
        settings: BrokerSettings,
        overlay: Overlay,
        founders: tuple[str, ...] = (),
    ) -> None:
        self._me = me
        self._settings = settings
        self._overlay = overlay
        self._founders = founders or overlay.brokers
        self._applicant: Applicant | None = None
        self._guests: dict[str, tuple[str, int]] = {}
        self._queue_bounds = queue_bounds(settings)
        self._journal = Journal()
        self._turn = Turn(0)
        self._doors = table_of(on_event(Started, self._started))

    def step(self, now_us: int, event: Event) -> list[Effect]:
        """Take one event at a time, and return the effects that the host is to carry out."""
        turn = self._turn
        turn.now_us = now_us
        turn.number += 1
        self._doors[type(event)](turn, event)
        if turn.changes or turn.once_synced_actions:
            self._journal.close(turn)
        elif turn.forgotten:
            self._journal.take_forgotten(turn)
        while turn.last_actions:
            turn.last_actions.pop()(turn)
        effects = self._moving.redirected(turn) if self._guests else turn.effects
        turn.effects = []
        return effects

    def observe(self) -> Observation:
        """How the broker stands, for telemetry and checkers; after its start only."""
        if self._applicant is not None:
            return self._applicant.observe(self._queue_bounds)
        return observed(self._machines, self._queue_bounds)

    @property
    def belongs(self) -> bool:
        """True once the broker belongs to its network; a founder does from its start on."""
        return self._applicant is None

    @property
    def overlay(self) -> Overlay:
        """The overlay in force; only once it belongs to a network."""
        return self._machines.overlays.change.in_force.overlay

    @property
    def founders(self) -> tuple[str, ...]:
        """The brokers with which the network began; only once it belongs to a network."""
        return self._machines.removals.founders

    @property
    def round_trips_ms(self) -> dict[str, float]:
        """With other brokers that live, as measured; only once it belongs to a network."""
        return self._machines.round_trips.smoothed_ms()

    @property
    def departures(self) -> Departures:
        """Who is about to be sent elsewhere; only once it belongs to a network."""
        moving = self._machines.moving
        return Departures(moving.emptying.is_on, moving.pace.waiting_count)

    def wants(self, topic: str) -> bool:
        """True if some client here wants the topic; only once it belongs to a network."""
        return self._machines.interest.wants(topic)

    def view(self) -> BrokerView:
        """Everything that an operator may see of the broker; only once it belongs to a network."""
        return inspect(self._me, self.observe(), self._machines)

    @property
    def shortcuts(self) -> Shortcuts:
        """Where plain messages go without a step; only once it belongs to a network."""
        return self._shortcuts

    def _started(self, turn: Turn, event: Started) -> None:
        incarnation, disk = event.incarnation, event.disk
        founders = disk.get(removals.FOUNDERS, self._founders)
        if self._me in founders or removals.FOUNDERS in disk:
            self._begin(turn, founders, incarnation, disk)
        else:
            self._apply(turn, incarnation, disk)

    def _apply(self, turn: Turn, incarnation: int, disk: dict[DiskKey, Any]) -> None:
        """Ask to be let in; once that is on disk, begin to serve clients."""

        def let_in(later: Turn, kept: dict[DiskKey, Any]) -> None:
            for key, value in kept.items():
                later.write(key, value)
            later.once_synced(partial(begin, kept=kept))

        def begin(later: Turn, *, kept: dict[DiskKey, Any]) -> None:
            self._applicant = None
            applicant.hang_up(later)
            self._begin(later, kept[removals.FOUNDERS], incarnation, {**disk, **kept})
            self._disk_space(later, DiskSpace(applicant.disk_is_full))

        others = tuple(name for name in self._overlay.brokers if name != self._me)
        applicant = self._applicant = Applicant(
            self._me, others, self._settings.conversations, incarnation=incarnation, let_in=let_in
        )
        self._doors = table_of(*applicant.doors(), on_event(Synced, self._journal.synced))
        applicant.started(turn)

    def _begin(
        self, turn: Turn, founders: tuple[str, ...], incarnation: int, disk: dict[DiskKey, Any]
    ) -> None:
        replica_count = self._replica_count(turn, disk)
        machines = Machines(
            self._me,
            self._settings,
            self._overlay,
            founders,
            incarnation,
            replica_count=replica_count,
        )
        self._machines = machines
        self._moving = machines.moving
        self._guests = machines.moving.guests
        self._shortcuts = Shortcuts(machines, self._journal, turn)
        self._set_timers(machines)
        self._open_doors(machines)
        machines.who_hears_what(turn.facts)
        turn.facts.packets_rerouted.heard_by(self._reroute_packets)
        machines.removals.restore(disk)
        machines.liveness.know(machines.removals.brokers)
        machines.directory.restore(disk)
        machines.incoming.restore(disk)
        wanted = [*machines.sessions.restore(disk), *machines.shared_keeper.restore(disk)]
        machines.overlays.restore(turn, disk)
        machines.relink(turn)
        machines.conversations.tick(turn)
        machines.liveness.started(turn)
        machines.interest.restore(turn, disk, wanted)
        machines.outgoing.restore(turn, disk)
        machines.retained_store.restore(turn, disk)
        machines.pass_restored(turn)
        machines.shared_member.restore(turn, disk, machines.sessions.all())
        machines.shared_keeper.started(turn)
        machines.moving.restore(turn, disk)
        machines.sessions.publishing.restore(turn, disk)
        machines.sessions.publish_wills(turn)
        machines.removals.started(turn)
        machines.directory.hand_over(turn)
        machines.overlays.started(turn)

    def _replica_count(self, turn: Turn, disk: dict[DiskKey, Any]) -> int:
        """As when the network was founded, whatever the k of the overlay has become since."""
        usual = self._settings.directory.replica_count
        if disk:
            return int(disk.get(REPLICAS, usual))
        count = founding_replica_count(self._overlay, self._settings.directory)
        if count != usual:
            turn.write(REPLICAS, count)
        return count

    def _set_timers(self, machines: Machines) -> None:
        self._timers: dict[str, Callable[[Turn], None]] = {
            conversations.TICK[0]: machines.heartbeat,
            removals.LOOK[0]: machines.removals.look,
            outgoing.TICK[0]: machines.outgoing.tick,
            outgoing.FORGET_GONE[0]: machines.outgoing.forget_gone,
            quiet_streams.SWEEP[0]: machines.sweep,
            incoming.ACKNOWLEDGE[0]: machines.incoming.send_acknowledgements,
            joining.ASK[0]: nothing,
            full_queues.TICK[0]: machines.full_queues.tick,
            slices.GO_ON[0]: machines.slices.go_on,
            **machines.overlays.timers(),
            **machines.moving.timers(),
        }

    def _open_doors(self, machines: Machines) -> None:
        peers, moving = machines.conversations, machines.moving
        self._doors = table_of(
            on_event(PeerEnvelope, peers.envelope_came),
            on_event(LinkUp, lambda turn, it: peers.link_up(turn, it.peer)),
            on_event(LinkDown, lambda turn, it: peers.link_down(turn, it.peer)),
            on_event(ClientUp, lambda turn, it: moving.client_up(turn, it.client, it.packet)),
            on_event(ClientPacket, machines.packet_door()),
            on_event(
                ClientDown, lambda turn, it: moving.client_down(turn, it.client, is_clean=it.clean)
            ),
            on_event(TimerFired, self._timer_fired),
            on_event(Synced, self._journal.synced),
            on_event(DiskSpace, self._disk_space),
            on_event(PlanGiven, machines.overlays.change.requests.given),
            on_event(EmptyingGiven, moving.emptying.given),
            on_event(ForgettingGiven, moving.forgetting.given),
            on_event(HoldingGiven, machines.overlays.adaptation.given),
            on_event(SystemPublished, self._system_published),
            on_event(RightsChanged, lambda turn, _it: machines.sessions.rights_changed(turn)),
        )

    def _reroute_packets(self, _turn: Turn) -> None:
        self._doors[ClientPacket] = self._machines.packet_door()

    def _timer_fired(self, turn: Turn, event: TimerFired) -> None:
        kind = event.key[0]
        if kind == conversations.TICK[0]:
            self._journal.forget(turn)
        if kind == wills.TIMER:
            self._machines.sessions.due(turn, event.key[1])
        elif kind in self._timers:
            self._timers[kind](turn)
        else:
            self._machines.forwarding.timer_fired(turn, event.key)

    def _system_published(self, turn: Turn, event: SystemPublished) -> None:
        sessions = self._machines.sessions
        if event.is_local:
            sessions.deliver(turn, StreamFrame(self._me, 0, event.publication))
        else:
            sessions.publishing.publish_for(turn, event.publication)

    def _disk_space(self, _turn: Turn, event: DiskSpace) -> None:
        self._machines.sessions.publishing.disk_is_full = event.is_full
