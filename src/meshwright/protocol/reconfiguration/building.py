"""Builds the overlay of a plan beside the one in force, when a Lock comes.

In the mode "carry" a broker copies its forwarding table from the overlay in force and tells its new
neighbours only the differences. A broker whose position changes sends the table to its heir, the
broker that has the position in the new overlay. Brokers do not begin at the same moment: messages
for an overlay that this broker does not build yet are held until it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from meshwright.model.overlay import Overlay
from meshwright.protocol.forwarding.by_epoch import ForwardingByEpoch
from meshwright.protocol.forwarding.forwarding import Forwarding
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.foundation.turn import Action, Turn, nothing
from meshwright.protocol.reconfiguration.conversation_marks import Marks
from meshwright.protocol.reconfiguration.heirs import heirs_of
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.reconfiguration.messages import (
    BuiltLate,
    Bundle,
    Inheritance,
    Lock,
    Ready,
    Renew,
)

STUCK = ("reconfigure stuck",)
# How many messages are held for overlays that this broker does not build yet.
EARLY_MAX = 65_536


class Stage(Enum):
    """How far the new overlay is built at this broker."""

    WAITING = "its machine begins when what was known at this place before comes"
    BEGUN = "its machine is there, and learns what is wanted here"
    READY = "it can be switched to"


STAGES = Transitions({Stage.WAITING: (Stage.BEGUN,), Stage.BEGUN: (Stage.READY,), Stage.READY: ()})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildingAround:
    """What building needs of the rest of the broker.

    make: builds the forwarding machine of an epoch.
    fill: tells the overlay of an epoch all filters that are wanted here, then calls back.
    marks: how far the conversations are that changed what is known on an overlay.
    told, heard: note that the last message to, or from, a peer changed what is known on an overlay.
    built: called when the overlay of an epoch has a machine here.
    """

    send: Callable[[Turn, str, Any], None]
    make: Callable[[Turn, int, Overlay], Forwarding]
    fill: Callable[[Turn, int, Action], None]
    alive: Callable[[], tuple[str, ...]]
    marks: Callable[[int], Marks]
    told: Callable[[int, str], None]
    heard: Callable[[int, str], None]
    built: Callable[[Turn, int], None]


class Work:
    """One overlay that is being built.

    answer: sends Ready to the coordinator.
    heirs: for each broker the one that has its position in the new overlay.
    """

    __slots__ = ("answer", "heirs", "lock", "marks", "stage")

    def __init__(self, lock: Lock, answer: Callable[[Turn, Ready], None]) -> None:
        self.lock = lock
        self.answer = answer
        self.heirs: dict[str, str] = {}
        self.marks: Marks | None = None
        self.stage = Stage.WAITING

    def go_on(self, stage: Stage) -> None:
        """Begin the next stage."""
        self.stage = STAGES.checked(self.stage, stage)

    def say(self, turn: Turn) -> None:
        """Tell the coordinator whether the overlay is ready."""
        is_ready = self.stage is Stage.READY
        self.answer(turn, Ready(self.lock.epoch, self.marks, is_ready=is_ready))


class Building:
    """Builds at most one overlay at a time."""

    def __init__(
        self,
        me: str,
        stuck_us: int,
        in_force: InForce,
        forwarding: ForwardingByEpoch,
        around: BuildingAround,
    ) -> None:
        self._me = me
        self._stuck_us = stuck_us
        self._in_force = in_force
        self._forwarding = forwarding
        self._around = around
        self._work: Work | None = None
        self._early: dict[int, list[tuple[str, Any]]] = {}
        self._early_count = 0

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(BuiltLate, self.heard),
            on(Inheritance, self.heard),
            on(Renew, self.heard),
        )

    def heard(
        self, turn: Turn, peer: str, message: Bundle[Any] | BuiltLate | Inheritance | Renew
    ) -> None:
        """Take a message for an overlay that is being built here, or hold it until that begins."""
        epoch = message.epoch
        if epoch in self._forwarding:
            self._take(turn, peer, message)
        elif epoch > self._in_force.epoch and self._early_count < EARLY_MAX:
            self._early.setdefault(epoch, []).append((peer, message))
            self._early_count += 1
            self._replay(turn, epoch, only_inherited=True)
        elif isinstance(message, Bundle):
            # Counts as messages of an unknown overlay: see Laggards.unknown.
            for one in message.messages:
                self._forwarding.handle(turn, peer, one)

    def begin(self, turn: Turn, lock: Lock, answer: Callable[[Turn, Ready], None]) -> None:
        """Build the overlay of a lock; answer when it is ready, or when it takes long."""
        work = self._work = Work(lock, answer)
        turn.timer(STUCK, turn.now_us + self._stuck_us)
        if lock.mode == "anew":
            self._begin_empty(turn, work, is_late=False)
            return
        work.heirs = heirs_of(self._in_force.overlay, lock.target)
        heir = work.heirs[self._me]
        is_whole = lock.mode == "carry" and set(self._around.alive()).issuperset(work.heirs)
        known = None
        if is_whole:
            # Table and marks in one step, so that no message comes or goes between the two.
            known = self._forwarding.machine(self._in_force.epoch).knowledge()
            work.marks = self._around.marks(self._in_force.epoch)
        if heir != self._me:
            self._around.send(turn, heir, Inheritance(lock.epoch, known))
        if not is_whole:
            self._begin_empty(turn, work, is_late=True)
        elif heir == self._me:
            self._begin_with(turn, work, known)
        else:
            self._replay(turn, lock.epoch, only_inherited=True)

    def begin_late(self, turn: Turn, epoch: int, overlay: Overlay) -> None:
        """Build an overlay that is in force already, and ask all neighbours what they know."""
        self._work = None
        self._add_machine(turn, epoch, overlay)
        self._ask_again(turn, epoch, self._forwarding.machine(epoch).neighbours())
        self._around.fill(turn, epoch, nothing)
        self._replay(turn, epoch)

    def restored(self, turn: Turn) -> None:
        """After a start, have all neighbours tell again what they know on the overlay in force.

        This broker has forgotten all of it, and a peer that never talked with it before does not
        notice that it restarted.
        """
        epoch = self._in_force.epoch
        if self._may_be_inherited(epoch):
            self._ask_again(turn, epoch, self._forwarding.machine(epoch).neighbours())

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Exchange everything anew with a peer on every overlay, and have the peer do the same.

        If the peer restarted, this is the first conversation that it knows of, so it does not
        notice that anything was lost; yet it may have inherited a table from another broker.
        """
        for epoch in self._forwarding.epochs():
            if self._may_be_inherited(epoch):
                self._ask_again(turn, epoch, (peer,))
            self._forwarding.peer_renewed(turn, peer, epoch)

    def again(self, turn: Turn) -> None:
        """Tell the coordinator again that the overlay is ready, if it is."""
        if self._work is not None and self._work.stage is Stage.READY:
            self._work.say(turn)

    def stuck(self, turn: Turn) -> None:
        """Send Ready with is_ready False if the overlay is not ready by now.

        A message may have been missed; the marks in Ready show the coordinator whether one was.
        """
        work = self._work
        if work is not None and work.stage is Stage.BEGUN:
            work.say(turn)

    def drop(self, epoch: int) -> None:
        """The plan of an epoch was given up: stop building its overlay."""
        if self._work is not None and self._work.lock.epoch == epoch:
            self._work = None
        self._forget_early(epoch)

    def finish(self, epoch: int) -> None:
        """An overlay is in force: drop the messages held for overlays up to its epoch."""
        for older in [one for one in self._early if one <= epoch]:
            self._forget_early(older)

    def _take(
        self, turn: Turn, peer: str, message: Bundle[Any] | BuiltLate | Inheritance | Renew
    ) -> None:
        if isinstance(message, Bundle):
            self._around.heard(message.epoch, peer)
            for one in message.messages:
                self._forwarding.handle(turn, peer, one)
        elif isinstance(message, BuiltLate):
            self._around.heard(message.epoch, peer)
            self._forwarding.peer_renewed(turn, peer, message.epoch)
        elif isinstance(message, Renew):
            peers = message.peers
            if peers is None:
                peers = self._forwarding.machine(message.epoch).neighbours()
            self._ask_again(turn, message.epoch, peers)
            for name in peers:
                self._forwarding.peer_renewed(turn, name, message.epoch)

    def _replay(self, turn: Turn, epoch: int, *, only_inherited: bool = False) -> None:
        """Take messages that were held: all of them, or only the Inheritance that is waited for."""
        work = self._work
        early = self._early.get(epoch, [])
        if only_inherited:
            heirs = [message for _, message in early if isinstance(message, Inheritance)]
            is_waiting = work is not None and work.stage is Stage.WAITING
            if heirs and work is not None and work.lock.epoch == epoch and is_waiting:
                if heirs[0].table is None:
                    self._begin_empty(turn, work, is_late=True)
                else:
                    self._begin_with(turn, work, heirs[0].table)
            return
        self._forget_early(epoch)
        for peer, message in early:
            self._take(turn, peer, message)

    def _begin_empty(self, turn: Turn, work: Work, *, is_late: bool) -> None:
        """Build an overlay from nothing.

        is_late: the neighbours may have told all they know already, so ask them to tell it again.
        """
        work.go_on(Stage.BEGUN)
        epoch = work.lock.epoch
        self._add_machine(turn, epoch, work.lock.target)
        if is_late:
            self._ask_again(turn, epoch, self._forwarding.machine(epoch).neighbours())
        self._around.fill(turn, epoch, partial(self._ready, work=work))
        self._replay(turn, epoch)

    def _begin_with(self, turn: Turn, work: Work, known: Any) -> None:
        """Build an overlay from the forwarding table of this broker's position in it."""
        work.go_on(Stage.BEGUN)
        epoch, remaining = work.lock.epoch, 2

        def one_done(later: Turn) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining:
                self._ready(later, work=work)

        self._add_machine(turn, epoch, work.lock.target)
        machine = self._forwarding.machine(epoch)
        inherited = machine.inherit(known, work.heirs)
        self._around.fill(turn, epoch, one_done)
        for wanted in inherited:
            machine.remove_interest(turn, wanted)
        machine.settle(turn, one_done)
        self._replay(turn, epoch)

    def _ready(self, turn: Turn, *, work: Work) -> None:
        work.go_on(Stage.READY)
        if self._work is work:
            work.say(turn)

    def _add_machine(self, turn: Turn, epoch: int, overlay: Overlay) -> None:
        self._forwarding.add(epoch, self._around.make(turn, epoch, overlay))
        self._around.built(turn, epoch)

    def _ask_again(self, turn: Turn, epoch: int, peers: Iterable[str]) -> None:
        for name in peers:
            self._around.send(turn, name, BuiltLate(epoch))
            self._around.told(epoch, name)

    def _may_be_inherited(self, epoch: int) -> bool:
        """False for the network's first overlay, which every broker builds from nothing."""
        return bool(epoch or self._in_force.versions)

    def _forget_early(self, epoch: int) -> None:
        self._early_count -= len(self._early.pop(epoch, ()))
