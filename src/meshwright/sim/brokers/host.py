"""Runs one broker: hands it what happens, and carries out what it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from meshwright.protocol.adaptation.star_messages import StarRecord
from meshwright.protocol.foundation.effects import (
    CloseClient,
    CloseLink,
    Effect,
    OpenLink,
    Report,
    SendClient,
    SendPeer,
    SetTimer,
    TimerKey,
    Write,
)
from meshwright.protocol.foundation.events import DiskSpace, Event, Started, TimerFired
from meshwright.protocol.observation import Observation
from meshwright.protocol.reconfiguration.messages import PlanRecord
from meshwright.sim.brokers.records import Records
from meshwright.sim.physics.agenda import Agenda
from meshwright.sim.physics.chance import Draws
from meshwright.sim.physics.clocks import TRUE_CLOCK, SkewedClock
from meshwright.sim.physics.disk import Disk
from meshwright.sim.physics.lines import Lines
from meshwright.sim.physics.network import Network


class Machine(Protocol):
    """What is run: a broker, or anything that speaks its language."""

    def step(self, now_us: int, event: Event) -> list[Effect]:
        """What the machine does next."""

    def observe(self) -> Observation:
        """How it stands."""


class Witness(Protocol):
    """Sees every step of every broker, to tell the story of a failure."""

    def stepped(self, time_us: int, broker: str, event: Event, effects: list[Effect]) -> None:
        """A broker was told something, and asked for this."""

    def changed(self, time_us: int, sentence: str) -> None:
        """The world itself changed."""


class Surroundings(Protocol):
    """What a host needs of its world."""

    agenda: Agenda
    network: Network
    lines: Lines
    records: Records
    ambushes: dict[str, Callable[[str], None]]
    witness: Witness | None

    def broke(self, broker: str, event: Event, error: Exception) -> None:
        """A machine raised an error, of which its process dies."""


class BrokerHost:
    """One broker's process, disk, clock and timers."""

    def __init__(
        self, name: str, world: Surroundings, build: Callable[[str], Machine], sync_delays_us: Draws
    ) -> None:
        self.name = name
        self.is_up = False
        self.machine: Machine | None = None
        self.clock: SkewedClock = TRUE_CLOCK
        self.disk = Disk(world.agenda, sync_delays_us, self.tell)
        self._world = world
        self._agenda = world.agenda
        self._build = build
        self._incarnation = 0
        self._full_count = 0
        self._timers: dict[TimerKey, int] = {}
        self._ambushes = world.ambushes
        self._witness = world.witness
        self._do: dict[type, Callable[[Any], None]] = {
            SendPeer: world.network.sender(name),
            SendClient: world.lines.answerer(name),
            SetTimer: self._set_timer,
            Write: self.disk.write,
            Report: self._report,
            OpenLink: lambda effect: world.network.open(name, effect.peer),
            CloseLink: lambda effect: world.network.close(name, effect.peer),
            CloseClient: lambda effect: world.lines.close(name, effect.client),
        }
        self._do_in_ambush: dict[type, Callable[[Any], None]] = {
            **self._do,
            SendClient: self._send_client,
        }

    def start(self) -> None:
        """Begin a new life with what the disk kept."""
        assert not self.is_up
        self._incarnation += 1
        self.is_up = True
        self.machine = self._build(self.name)
        self.tell(Started(self._incarnation, dict(self.disk.kept)))
        if self._full_count:
            self.tell(DiskSpace(is_full=True))

    def crash(self) -> None:
        """Die at once: memory, timers, connections and unsynced batches are gone."""
        self.is_up = False
        self.machine = None
        self.disk.crash()
        self._timers.clear()
        self._world.network.crash(self.name)
        self._world.lines.crash(self.name)

    def fill_disk(self) -> None:
        """One more reason why the disk has no room; a broker that starts meanwhile is told."""
        self._full_count += 1
        if self._full_count == 1:
            self.tell(DiskSpace(is_full=True))

    def empty_disk(self) -> None:
        """Take one of the reasons back."""
        self._full_count -= 1
        if not self._full_count:
            self.tell(DiskSpace(is_full=False))

    def tell(self, event: Event) -> None:
        """Hand over what happened; a broker that is down hears nothing."""
        machine = self.machine
        if machine is None:
            return
        now_us = self._agenda.now_us
        clock = self.clock
        try:
            effects = machine.step(now_us if clock is TRUE_CLOCK else clock.local_us(now_us), event)
        except Exception as error:  # whatever it is, a process would die of it
            self._world.broke(self.name, event, error)
            return
        if self._witness is not None:
            self._witness.stepped(now_us, self.name, event, effects)
        do = self._do_in_ambush if self._ambushes else self._do
        for effect in effects:
            do[type(effect)](effect)

    def _send_client(self, effect: SendClient) -> None:
        self._do[SendClient](effect)
        self._pass(type(effect.packet).__name__)

    def _set_timer(self, effect: SetTimer) -> None:
        clock, now_us = self.clock, self._agenda.now_us
        true_us = effect.at_us if clock is TRUE_CLOCK else clock.true_us(effect.at_us)
        true_us = max(true_us, now_us)
        self._timers[effect.key] = true_us
        self._agenda.at(true_us, self._fire, effect.key)

    def _fire(self, key: TimerKey, _: None) -> None:
        # A timer that was set again, or died in a crash, is no longer the one on the list.
        if self._timers.get(key) == self._agenda.now_us:
            del self._timers[key]
            self.tell(TimerFired(key))

    def _report(self, effect: Report) -> None:
        self._world.records.add(self._agenda.now_us, self.name, effect.record)
        if self._ambushes and isinstance(effect.record, PlanRecord | StarRecord):
            self._pass(effect.record.step)

    def _pass(self, moment: str) -> None:
        """Reach a moment at which somebody may lie in ambush."""
        spring = self._ambushes.pop(moment, None)
        if spring is not None:
            spring(self.name)
