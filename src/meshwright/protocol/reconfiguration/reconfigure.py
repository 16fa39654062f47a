"""One broker's part in every change of overlay.

Every overlay has an epoch, a number that no two plans share. The overlay in force is the one with
the highest epoch that any broker has switched to. A broker writes it to disk before it tells
others, and a broker that meets one with an older overlay sends it the newer. So a switch that one
broker has on disk reaches all brokers, and one that no broker has on disk is forgotten: no crash
leaves the network between two overlays. A lock only makes plans wait for each other, and is lost in
a crash. Publishers never wait for a change of overlay.
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
# How often a broker asks about a plan whose coordinator is dead, before it ends the plan.
QUESTIONS_MAX = 4


class ReconfigureSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long a plan may take until it is decided, and how long an old overlay is kept.

    patience_us: after which a plan that is not decided is aborted.
    ask_every_us: how often a broker asks what became of the plan that it takes part in.
    gather_us: how long messages that build an overlay are gathered into a bundle.
    stuck_us: how long a broker builds an overlay before it tells the coordinator that it takes
        long.
    mend_us: how long the coordinator waits after it sent Renew.
    quiet_us: how long no frame may come on an old overlay before a broker reports Drained.
    forget_us: after which old overlays are dropped even without Finish.
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
    """What a change of overlay needs of the rest of the broker.

    removals: knows which brokers belong to the network.
    make: builds the forwarding machine of an epoch.
    fill: tells the overlay of an epoch all filters that are wanted here, then calls back.
    conversation_marks: notes which messages changed what is known on an overlay.
    release: sends messages of an epoch at once from now on, no longer in bundles.
    unmake: drops the messages gathered for an epoch that was given up.
    ask_dead: asks brokers that do not seem alive whether they are.
    relink: recomputes with which brokers to stay connected.
    step_aside: ends a change of links that adaptation began here; True if there was one.
    block: begins the DYNATOPS paper's change of overlay, which holds up clients.
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
    """One broker's part in every change of overlay.

    promise: the plan in which this broker takes part; None if it takes part in none.
    """

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
        """The epoch of the overlay in force."""
        return self.in_force.epoch

    def handlers(self) -> Handlers:
        """Map each message to its method."""
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
        """Map each timer to its method."""
        return {
            **self.coordinator.timers(),
            ASK[0]: self._ask,
            RETIRE[0]: self._retire,
            QUIET[0]: self.draining.quiet,
            STUCK[0]: self.building.stuck,
            ENTER[0]: self.entering.look,
        }

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start, use the overlay that is on disk.

        If this broker was the coordinator of its plan and had not finished, it goes on with it.
        """
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
        """The brokers to stay connected with while this broker is a coordinator."""
        undertaking = self.coordinator.undertaking
        return () if undertaking is None else undertaking.lock.target.brokers

    @property
    def is_free(self) -> bool:
        """True if this broker is in the overlay and neither leads a plan nor takes part in one."""
        return self._has_no_plan() and not self.entering.is_outside

    def adopt(self, turn: Turn, message: Switch) -> None:
        """Switch to a newer overlay that is complete already, as the blocking protocol does."""
        if message.epoch > self.epoch:
            self._adopt(turn, message)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Tell a peer again what it may have forgotten, as its conversation began anew."""
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
        """Ask the coordinator from time to time what became of its plan, and once all brokers.

        If the coordinator stays dead, this broker ends the plan after a number of questions.
        """
        promise = self.promise
        if promise is None or promise.lock.epoch <= self.epoch:
            return
        promise.asked_count += 1
        alive = self._around.alive()
        is_orphaned = promise.coordinator not in alive and self.coordinator.undertaking is None
        # Each broker waits a turn longer than the one before: the first may not know the plan.
        turns = QUESTIONS_MAX + alive.index(self._me)
        if is_orphaned and promise.asked_count > turns:
            self.requests.overrule(turn, promise)
        asked = alive if promise.asked_count == 2 else (promise.coordinator,)
        for name in asked:
            if name != self._me:
                self._around.send(turn, name, Question(promise.lock.epoch))
        turn.timer(ASK, turn.now_us + self._settings.ask_every_us)

    def _retire(self, turn: Turn) -> None:
        """Drop older overlays, as no frame travels on them, and be free for the next plan."""
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
        """Choose between two plans at once: the coordinator with the lower name goes on.

        A plan that is decided goes on whatever its coordinator's name.
        """
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
        """Take part in a plan, and build its overlay."""
        promise = self.promise = Promise(peer, lock)
        self._report(turn, lock, "granted")
        turn.timer(ASK, turn.now_us + self._settings.ask_every_us)

        def answer(later: Turn, ready: Ready) -> None:
            if self.promise is promise:
                self._around.send(later, peer, ready)

        if self._around.step_aside(turn) and lock.mode == "carry":
            # The ends of a link that was being changed may know different things of each other.
            lock = msgspec.structs.replace(lock, mode="join")
        self.building.begin(turn, lock, answer)

    def _grant_next(self, turn: Turn) -> None:
        if self._next is not None and self.promise is None:
            (peer, lock), self._next = self._next, None
            self._lock_asked(turn, peer, lock)

    def _built(self, turn: Turn, epoch: int) -> None:
        """An overlay has a machine now: ask for the messages that came before that again."""
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
        """Switch to a newer overlay; build it first if that was not done before."""
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
        """Leave a plan, and drop the overlay that was built for it."""
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
