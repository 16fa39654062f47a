"""Change of overlay: one broker's part in it.

Every overlay has an epoch, a number that no two plans share. The overlay in force is that of the
highest epoch that any broker has switched to; it is on disk, and whoever meets a broker with an
older one tells it. So a switch that was begun reaches everybody, and one that nobody had on disk is
forgotten by all: no crash leaves the network between two overlays. Locks only keep plans in
order, and end with the process that holds them. Nothing here holds up publishers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.overlays.growth import lone_overlay
from meshwright.protocol.forwarding.by_epoch import ForwardingByEpoch
from meshwright.protocol.forwarding.forwarding import Forwarding
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.removals import Removals
from meshwright.protocol.reconfiguration.building import STUCK, Building, BuildingAround
from meshwright.protocol.reconfiguration.conversation_marks import ConversationMarks
from meshwright.protocol.reconfiguration.coordinator import Coordinator, Patience
from meshwright.protocol.reconfiguration.draining import QUIET, Draining
from meshwright.protocol.reconfiguration.entering import ENTER, OUTSIDE, Entering, EnteringAround
from meshwright.protocol.reconfiguration.in_force import InForce, plan_name
from meshwright.protocol.reconfiguration.laggards import Laggards
from meshwright.protocol.reconfiguration.messages import (
    Abort,
    Deny,
    Fetch,
    Finish,
    Lock,
    PlanRecord,
    Question,
    Ready,
    Switch,
)
from meshwright.protocol.reconfiguration.requests import Promise, Requests, RequestsAround

ASK = ("reconfigure ask",)
RETIRE = ("reconfigure retire",)
UNFINISHED: DiskKey = ("plan unfinished",)
# Questions about a plan whose coordinator is dead, until somebody ends it.
QUESTIONS_MAX = 4


class ReconfigureSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long a plan may take until it is decided, and how long an old overlay runs on.

    gather_us: how long messages that build an overlay are gathered. stuck_us: how long building may
    take before a broker says so. mend_us: how long what was torn may take to mend. quiet_us: how
    long nothing comes on an old overlay until a broker says so. forget_us: after which old overlays
    are forgotten, if nobody says so before.
    """

    patience_us: int = 20_000_000
    ask_every_us: int = 5_000_000
    gather_us: int = 20_000
    stuck_us: int = 500_000
    mend_us: int = 200_000
    quiet_us: int = 200_000
    forget_us: int = 30_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a change of overlay asks of the rest of the broker.

    removals: who belongs to the network. make builds a forwarding machine that sees who is alive;
    fill has the overlay of an epoch carry all that is wanted here; conversation_marks notes what
    changes overlays; release holds up no messages of an epoch any more, unmake forgets them;
    ask_dead finds out whether those live that are not seen alive; relink is called when the brokers
    to stay connected with may differ; step_aside ends what else changes links here and says whether
    something did; block begins the paper's change that holds up clients.
    """

    send: Callable[[Turn, str, Any], None]
    removals: Removals
    make: Callable[[Turn, int, Overlay], Forwarding]
    fill: Callable[[Turn, int, Action], None]
    conversations: Conversations
    conversation_marks: ConversationMarks
    release: Callable[[Turn, int], None]
    unmake: Callable[[int], None]
    alive: Callable[[], tuple[str, ...]]
    ask_dead: Action
    relink: Action
    step_aside: Callable[[Turn], bool]
    block: Callable[[Turn, int, str, Overlay], None]


class Reconfigure:
    """One broker's part in every change of overlay; promise: the plan in which it takes part."""

    def __init__(
        self,
        me: str,
        overlay: Overlay,
        settings: ReconfigureSettings,
        forwarding: ForwardingByEpoch,
        around: Around,
    ) -> None:
        self._me = me
        self._settings = settings
        self._forwarding = forwarding
        self._around = around
        self.in_force = (
            InForce(overlay) if me in overlay.brokers else InForce(lone_overlay(me), OUTSIDE)
        )
        self.promise: Promise | None = None
        self._next: tuple[str, Lock] | None = None
        self.laggards = Laggards(send=around.send, in_force=self.in_force.told)
        self.coordinator = Coordinator(
            me,
            lambda: len(around.removals.present),
            Patience(
                decide_us=settings.patience_us,
                mend_us=settings.mend_us,
                check_us=settings.quiet_us,
                drain_us=settings.forget_us,
            ),
            send=around.send,
            alive=around.alive,
            watch=around.relink,
            finished=lambda turn: turn.write(UNFINISHED, None),
            in_force=self.in_force.told,
        )
        self.draining = Draining(settings.quiet_us, around.conversations, send=around.send)
        building_around = BuildingAround(
            send=around.send,
            make=around.make,
            fill=around.fill,
            alive=around.alive,
            marks=around.conversation_marks.marks,
            told=around.conversation_marks.told,
            heard=around.conversation_marks.heard,
            built=self._built,
        )
        self.building = Building(me, settings.stuck_us, self.in_force, forwarding, building_around)
        requests_around = RequestsAround(
            send=around.send,
            seat=lambda: around.removals.seat,
            broker_at=around.removals.broker_at,
            alive=around.alive,
            promise=lambda: self.promise,
            void=lambda: self.laggards.void,
            block=around.block,
        )
        self.requests = Requests(me, self.in_force, self.coordinator, requests_around)
        entering_around = EnteringAround(
            send=around.send,
            others=lambda: tuple(name for name in around.alive() if name != me),
            ask_dead=around.ask_dead,
            may_enter=self._may_enter,
            enter=self.requests.enter,
        )
        self.entering = Entering(me, self.in_force, entering_around)

    @property
    def epoch(self) -> int:
        """That of the overlay in force."""
        return self.in_force.epoch

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            *self.coordinator.handlers(),
            *self.building.handlers(),
            *self.draining.handlers(),
            on(Lock, self._lock_asked),
            on(Switch, self._switch_heard),
            on(Finish, self._finish_heard),
            on(Abort, self._abort_heard),
            on(Question, self._questioned),
            on(Fetch, self.laggards.fetched),
        )

    def timers(self) -> dict[str, Action]:
        """Which timer is for which method."""
        return {
            **self.coordinator.timers(),
            ASK[0]: self._ask,
            RETIRE[0]: self._retire,
            QUIET[0]: self.draining.quiet,
            STUCK[0]: self.building.stuck,
            ENTER[0]: self.entering.look,
        }

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """Begin with the overlay that was in force."""
        self.in_force.restore(disk)
        self.requests.restore(disk)
        overlay = self.in_force.overlay
        self._forwarding.add(self.epoch, self._around.make(turn, self.epoch, overlay))
        self._around.release(turn, self.epoch)
        self._forwarding.switch(turn, self.epoch)
        self.building.restored(turn)
        self.draining.switched(turn, self.epoch)
        if disk.get(UNFINISHED) == self.epoch:
            moves = self.in_force.moves
            name = plan_name(overlay, moves)
            lock = Lock(self.epoch, name, overlay, self.epoch, moves=moves)
            turn.once_synced(lambda later: self.coordinator.resume(later, lock))

    def watched(self) -> tuple[str, ...]:
        """Brokers to stay connected with as long as a plan is led here."""
        undertaking = self.coordinator.undertaking
        return () if undertaking is None else undertaking.lock.target.brokers

    @property
    def is_free(self) -> bool:
        """Whether this broker is in the overlay, and neither leads a plan nor takes part in one."""
        return self._has_no_plan() and not self.entering.is_outside

    def adopt(self, turn: Turn, message: Switch) -> None:
        """Switch to an overlay that carries all already; the one before runs dry."""
        if message.epoch > self.epoch:
            self._adopt(turn, message)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer may have forgotten what it was told."""
        self.laggards.peer_renewed(peer)
        self.draining.peer_renewed(turn, peer)
        promise = self.promise
        if promise is not None and promise.coordinator == peer != self._me:
            self._around.send(turn, peer, Question(promise.lock.epoch))
        self.coordinator.peer_renewed(turn, peer)

    def _has_no_plan(self) -> bool:
        return self.promise is None and self.coordinator.undertaking is None

    def _may_enter(self) -> bool:
        return self._has_no_plan() and not self._around.removals.without_roll()

    def _ask(self, turn: Turn) -> None:
        """While a plan drags on: ask its coordinator what became of it, and once everybody."""
        promise = self.promise
        if promise is None or promise.lock.epoch <= self.epoch:
            return
        promise.asked_count += 1
        alive = self._around.alive()
        is_orphaned = promise.coordinator not in alive and self.coordinator.undertaking is None
        # One after the other, as the first that is alive may never have heard of the plan.
        turns = QUESTIONS_MAX + alive.index(self._me)
        if is_orphaned and promise.asked_count > turns:
            self.requests.overrule(turn, promise)
        asked = alive if promise.asked_count == 2 else (promise.coordinator,)
        for name in asked:
            if name != self._me:
                self._around.send(turn, name, Question(promise.lock.epoch))
        turn.timer(ASK, turn.now_us + self._settings.ask_every_us)

    def _retire(self, turn: Turn) -> None:
        """The old overlay has run dry: forget it, and be free for the next plan."""
        self._forwarding.drop_older()
        self._around.conversation_marks.drop_older(self.epoch)
        self.draining.finished()
        self._around.relink(turn)
        promise = self.promise
        if promise is not None and promise.lock.epoch <= self.epoch:
            self._report(turn, promise.lock, "drained")
            self.promise = None
        self._grant_next(turn)

    def _lock_asked(self, turn: Turn, peer: str, lock: Lock) -> None:
        promise = self.promise
        is_late = lock.epoch <= self.epoch or 0 < lock.supersedes <= self.epoch
        if is_late or lock.source_epoch < self.epoch:
            self.laggards.push(turn, peer)
            self._deny(turn, peer, lock, f"epoch {self.epoch} is in force")
        elif promise is None:
            self._grant(turn, peer, lock)
        elif promise.lock.epoch == lock.epoch:
            self.building.again(turn)
        elif promise.lock.epoch == lock.supersedes:
            if self.coordinator.leads(lock.supersedes):
                self.coordinator.abort(turn, f"ended by {peer}")
            else:
                self._release(turn, promise, "superseded")
            self._grant(turn, peer, lock)
        else:
            self._compete(turn, peer, lock, promise)

    def _compete(self, turn: Turn, peer: str, lock: Lock, promise: Promise) -> None:
        """Of two plans at once that of the lower name goes on, unless the other is decided."""
        is_decided = promise.lock.epoch <= self.epoch
        if promise.coordinator == self._me and peer < self._me and not is_decided:
            before, self._next = self._next, (peer, lock)
            is_decided = not self.coordinator.abort(turn, f"gives way to the plan of {peer}")
            if not is_decided:
                return
            self._next = before
        if is_decided or peer > promise.coordinator or promise.coordinator == self._me:
            held = f"takes part in plan {promise.lock.plan} of {promise.coordinator}"
            self._deny(turn, peer, lock, held)
        else:
            if self._next is not None and self._next[1].epoch != lock.epoch:
                self._deny(turn, *self._next, "another plan waits already")
            self._next = (peer, lock)

    def _deny(self, turn: Turn, peer: str, lock: Lock, why: str) -> None:
        self._report(turn, lock, "denied", why)
        self._around.send(turn, peer, Deny(lock.epoch, why))

    def _grant(self, turn: Turn, peer: str, lock: Lock) -> None:
        """Take part, and build the overlay of the plan."""
        promise = self.promise = Promise(peer, lock)
        self._report(turn, lock, "granted")
        turn.timer(ASK, turn.now_us + self._settings.ask_every_us)

        def answer(later: Turn, ready: Ready) -> None:
            if self.promise is promise:
                self._around.send(later, peer, ready)

        if self._around.step_aside(turn) and lock.mode == "carry":
            # What is known here of links may not be what their other ends know.
            lock = msgspec.structs.replace(lock, mode="join")
        self.building.begin(turn, lock, answer)

    def _grant_next(self, turn: Turn) -> None:
        if self._next is not None and self.promise is None:
            (peer, lock), self._next = self._next, None
            self._lock_asked(turn, peer, lock)

    def _built(self, turn: Turn, epoch: int) -> None:
        """There is a machine for an overlay: ask again for what came before it was there."""
        self._around.relink(turn)
        self.laggards.built(turn, epoch)

    def _switch_heard(self, turn: Turn, peer: str, message: Switch) -> None:
        if message.epoch < self.epoch:
            self.laggards.push(turn, peer)
            return
        if self.entering.takes(turn, message):
            return
        if message.epoch > self.epoch:
            self._adopt(turn, message)

        def on_disk(later: Turn) -> None:
            self.coordinator.on_disk(later, message.epoch)
            if peer == self.requests.owner(message.epoch):
                self.draining.report_to(later, peer, message.epoch)

        turn.once_synced(on_disk)

    def _adopt(self, turn: Turn, message: Switch) -> None:
        """Switch to an overlay, prepared for it or not."""
        promise = self.promise
        if promise is not None and promise.lock.epoch < message.epoch:
            self._release(turn, promise, "superseded")
        if message.epoch not in self._forwarding:
            self.building.begin_late(turn, message.epoch, message.overlay)
        self.in_force.adopt(turn, message)
        if self.coordinator.leads(self.epoch):
            turn.write(UNFINISHED, self.epoch)
        self._around.release(turn, self.epoch)
        self._forwarding.switch(turn, self.epoch)
        self.draining.switched(turn, self.epoch)
        self.building.finish(self.epoch)
        self.coordinator.overtaken(turn, self.epoch)
        name = plan_name(message.overlay, message.moves)
        turn.report(PlanRecord(plan=name, epoch=self.epoch, step="switched"))
        turn.facts.switched.tell(turn, self.epoch, message.moves)
        turn.timer(RETIRE, turn.now_us + self._settings.forget_us)
        self.laggards.switched(turn)

    def _finish_heard(self, turn: Turn, peer: str, message: Finish) -> None:
        if message.epoch == self.epoch:
            self._retire(turn)
        elif message.epoch > self.epoch:
            self._around.send(turn, peer, Fetch(self.epoch))

    def _abort_heard(self, turn: Turn, peer: str, message: Abort) -> None:
        del peer
        if self._next is not None and self._next[1].epoch == message.epoch:
            self._next = None
        promise = self.promise
        if promise is not None and promise.lock.epoch == message.epoch > self.epoch:
            self._release(turn, promise, "aborted")
            self._grant_next(turn)

    def _release(self, turn: Turn, promise: Promise, step: str) -> None:
        """Take part no more, and forget what was built."""
        self.promise = None
        self.laggards.void = promise.lock.epoch
        self.building.drop(promise.lock.epoch)
        self._forwarding.drop(promise.lock.epoch)
        self._around.unmake(promise.lock.epoch)
        self._around.relink(turn)
        self._report(turn, promise.lock, step)

    def _questioned(self, turn: Turn, peer: str, message: Question) -> None:
        if message.epoch <= self.epoch:
            self.laggards.push(turn, peer)
        elif self.requests.owner(message.epoch) == self._me and not self.coordinator.leads(
            message.epoch
        ):
            self._around.send(turn, peer, Abort(message.epoch))

    def _report(self, turn: Turn, lock: Lock, step: str, detail: str = "") -> None:
        turn.report(PlanRecord(plan=lock.plan, epoch=lock.epoch, step=step, detail=detail))
