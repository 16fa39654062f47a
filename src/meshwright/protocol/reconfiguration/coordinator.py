"""The coordinator leads all other brokers through a plan: prepare, switch, drain.

The broker that was given the plan is its coordinator. All brokers of the plan that are alive must
take part, and they must be more than half of the brokers that were not removed, so that two plans
cannot be decided by disjoint sets of brokers. The plan is decided when the coordinator has the new
overlay on its own disk. Before that, a crash of the coordinator, a Deny or a timeout ends the plan,
and the overlay in force stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.conversation_marks import Marks, late_hearers, torn_pairs
from meshwright.protocol.reconfiguration.messages import (
    Abort,
    AbortAsked,
    Deny,
    DrainAsked,
    Drained,
    Finish,
    Inheritance,
    Lock,
    PlanRecord,
    Ready,
    Renew,
    Switch,
)

DEADLINE = ("reconfigure deadline",)
MENDED = ("reconfigure mended",)
CHECK = ("reconfigure check",)

# For each broker the peers to exchange everything anew with; None stands for all neighbours.
Torn = dict[str, tuple[str, ...] | None]


class Step(Enum):
    """How far a plan is at its coordinator."""

    PREPARE = "all build the overlay to come, and say when it is ready"
    MEND = "some begin anew with each other, of whom one may have missed something"
    DECIDE = "the overlay is on its way to this broker's disk"
    SWITCH = "it is decided: all switch, and say what is left of older overlays"


STEPS = Transitions(
    {
        Step.PREPARE: (Step.MEND, Step.DECIDE),
        Step.MEND: (Step.MEND, Step.PREPARE),
        Step.DECIDE: (Step.SWITCH,),
        Step.SWITCH: (),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the coordinator waits.

    decide_us: until a plan must be decided.
    mend_us: after it told brokers to exchange everything anew.
    check_us: before it asks again whether old overlays are drained.
    drain_us: until old overlays are dropped even if they are not drained.
    """

    decide_us: int
    mend_us: int
    check_us: int
    drain_us: int


class Undertaking:
    """One plan under way at its coordinator.

    heirs: for each broker the one that has its position in the target overlay.
    asked: the brokers that were told of the plan.
    told: the brokers that were told of its present step.
    answers: for each broker that answered this step, its marks.
    unready: brokers that answered Ready with is_ready False.
    late: brokers that returned meanwhile, and start from nothing while the others carry over.
    vouched: dead brokers whose heirs were told not to wait for an Inheritance.
    mended: for each broker, the peers with which it was told to exchange everything anew.
    """

    __slots__ = (
        "answers", "asked", "brokers", "heirs", "late", "lock", "mended", "step", "told",
        "unready", "vouched",
    )  # fmt: skip

    def __init__(self, lock: Lock, heirs: dict[str, str], step: Step = Step.PREPARE) -> None:
        self.lock = lock
        self.brokers = frozenset(lock.target.brokers)
        self.heirs = heirs
        self.asked: dict[str, None] = {}
        self.late: set[str] = set()
        self.vouched: set[str] = set()
        self.unready: set[str] = set()
        self.mended: Torn = {}
        self.step = step
        self.told: dict[str, None] = {}
        self.answers: dict[str, Marks | None] = {}

    def go_on(self, step: Step) -> None:
        """Begin the next step; at Step.DECIDE all brokers are to be told, and to answer, again."""
        self.step = STEPS.checked(self.step, step)
        if step is Step.DECIDE:
            self.told = {}
            self.answers = {}

    @property
    def epoch(self) -> int:
        return self.lock.epoch

    @property
    def is_decided(self) -> bool:
        """True if the overlay may be on the coordinator's disk: the plan cannot be aborted."""
        return self.step in (Step.DECIDE, Step.SWITCH)


class Coordinator:
    """Leads at most one plan at a time.

    present_count: counts the brokers of the network that were not removed.
    alive: the brokers believed alive, this one among them.
    watch: called when the set of brokers to stay connected with changes.
    finished: called when a decided plan has ended.
    in_force: the Switch message with the overlay in force here.
    """

    def __init__(
        self,
        me: str,
        present_count: Callable[[], int],
        patience: Patience,
        *,
        send: Callable[[Turn, str, Any], None],
        alive: Callable[[], tuple[str, ...]],
        watch: Action,
        finished: Action,
        in_force: Callable[[], Switch],
    ) -> None:
        self._me = me
        self._present_count = present_count
        self._patience = patience
        self._send = send
        self._alive = alive
        self._watch = watch
        self._finished = finished
        self._in_force = in_force
        self.undertaking: Undertaking | None = None

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(Deny, self._denied),
            on(Ready, self._answered),
            on(Drained, self._answered),
            on(AbortAsked, self._abort_asked),
        )

    def timers(self) -> dict[str, Action]:
        """Map each timer to its method."""
        return {DEADLINE[0]: self._deadline, MENDED[0]: self._mended, CHECK[0]: self._check}

    def begin(self, turn: Turn, lock: Lock, heirs: dict[str, str]) -> None:
        """Begin a plan; heirs: for each broker the one that has its position in the new overlay."""
        self.undertaking = Undertaking(lock, heirs)
        self._report(turn, "asked")
        self._watch(turn)
        turn.timer(DEADLINE, turn.now_us + self._patience.decide_us)
        self._advance(turn)

    def resume(self, turn: Turn, lock: Lock) -> None:
        """After a crash, go on with a plan that was decided before it."""
        if self.undertaking is None:
            self.undertaking = Undertaking(lock, {}, Step.SWITCH)
            self._watch(turn)
            self._begin_drain(turn)

    def leads(self, epoch: int) -> bool:
        """True if this broker leads the plan of an epoch now."""
        return self.undertaking is not None and self.undertaking.epoch == epoch

    def on_disk(self, turn: Turn, epoch: int) -> None:
        """The overlay of an epoch is on this broker's disk: its plan, if led here, is decided."""
        undertaking = self._led(epoch)
        if undertaking is not None and undertaking.step is Step.DECIDE:
            undertaking.go_on(Step.SWITCH)
            self._report(turn, "decided")
            self._advance(turn)

    def abort(self, turn: Turn, why: str) -> bool:
        """Abort the plan unless it is decided; returns whether it was aborted."""
        undertaking = self.undertaking
        if undertaking is None or undertaking.is_decided:
            return False
        self._report(turn, "aborted", why)
        self._end(turn)
        for name in sorted(undertaking.asked):
            self._send(turn, name, Abort(undertaking.epoch))
        return True

    def overtaken(self, turn: Turn, epoch: int) -> None:
        """A newer overlay is in force here: end a plan of a lower epoch."""
        if self.undertaking is not None and self.undertaking.epoch < epoch:
            self._report(turn, "superseded", f"epoch {epoch} is in force")
            self._end(turn)

    def alive_changed(self, turn: Turn) -> None:
        """Tell the plan to brokers that came back, and wait no longer for those that died."""
        self._advance(turn)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Tell a broker its step again: its conversation began anew, it may have restarted."""
        undertaking = self.undertaking
        if undertaking is None:
            return
        undertaking.late.add(peer)
        undertaking.told.pop(peer, None)
        undertaking.answers.pop(peer, None)
        self._advance(turn)

    def _advance(self, turn: Turn) -> None:
        """Tell the present step to brokers that do not know it; go on when all have answered."""
        undertaking = self.undertaking
        if undertaking is None:
            return
        # The coordinator tells itself last: it answers at once, when all others must be told.
        others = [name for name in self._followers(undertaking) if name != self._me]
        for name in [*others, self._me]:
            if self.undertaking is undertaking and name not in undertaking.told:
                self._tell(turn, undertaking, name)
        if self.undertaking is undertaking and not undertaking.is_decided:
            self._vouch(turn, undertaking)
        if self.undertaking is undertaking and self._is_complete(undertaking):
            self._next(turn, undertaking)

    def _tell(self, turn: Turn, undertaking: Undertaking, name: str) -> None:
        lock = undertaking.lock
        message: Any = lock
        if undertaking.is_decided:
            # The coordinator writes the overlay to its own disk first, which decides the plan.
            if name != self._me and undertaking.step is Step.DECIDE:
                return
            in_force = self._in_force()
            is_mine = in_force.epoch == lock.epoch
            message = in_force if is_mine else Switch(lock.epoch, lock.target, lock.moves)
        elif lock.mode == "carry" and name in undertaking.late:
            message = msgspec.structs.replace(lock, mode="join")
        undertaking.told[name] = undertaking.asked[name] = None
        self._send(turn, name, message)

    def _vouch(self, turn: Turn, undertaking: Undertaking) -> None:
        """Tell the heirs of dead brokers not to wait for an Inheritance."""
        if undertaking.lock.mode != "carry":
            return
        gone = set(undertaking.heirs).difference(self._alive(), undertaking.vouched)
        for name in sorted(gone):
            undertaking.vouched.add(name)
            heir = undertaking.heirs[name]
            if heir != name:
                self._send(turn, heir, Inheritance(undertaking.epoch, None))

    def _is_complete(self, undertaking: Undertaking) -> bool:
        answers = undertaking.answers
        has_majority = 2 * len(answers) > self._present_count() or undertaking.is_decided
        return has_majority and all(name in answers for name in self._followers(undertaking))

    def _next(self, turn: Turn, undertaking: Undertaking) -> None:
        """All have answered the step: begin the next one, or finish.

        Not while marks disagree, a broker is not ready, or frames of old overlays are in flight.
        """
        if not undertaking.is_decided:
            self._mend(turn, undertaking)
            is_unready = not undertaking.unready.isdisjoint(self._alive())
            if not is_unready and undertaking.step is Step.PREPARE:
                self._report(turn, "prepared")
                undertaking.go_on(Step.DECIDE)
                self._begin_drain(turn)
        elif self._late_hearers(undertaking):
            turn.timer(CHECK, turn.now_us + self._patience.check_us)
        else:
            self._finish(turn, undertaking)

    def _torn(self, undertaking: Undertaking) -> Torn:
        """For each broker the peers with which its marks disagree; None stands for all neighbours.

        One of such a pair may not know what the other takes for known.
        """
        if undertaking.lock.mode != "carry":
            return {}
        answers, heirs = undertaking.answers, undertaking.heirs
        torn: Torn = {}
        whole = {name: marks for name, marks in answers.items() if marks is not None}
        for one, other in torn_pairs(whole):
            torn[heirs[one]] = (*(torn.get(heirs[one]) or ()), heirs[other])
        # Before it restarted, a broker without marks may have sent its heir a table.
        for name in sorted(set(heirs).difference(whole)):
            if heirs[name] != name and heirs[name] in answers:
                torn[heirs[name]] = None
        return torn

    def _mend(self, turn: Turn, undertaking: Undertaking) -> None:
        """Send Renew to brokers whose marks disagree with those of peers, unless they had it."""
        torn = {
            name: peers
            for name, peers in self._torn(undertaking).items()
            if undertaking.mended.get(name, ()) != peers
        }
        if not torn:
            return
        undertaking.mended.update(torn)
        undertaking.go_on(Step.MEND)
        self._report(turn, "mended", f"{len(torn)} brokers begin anew with others")
        for name, peers in torn.items():
            self._send(turn, name, Renew(undertaking.epoch, peers))
        turn.timer(MENDED, turn.now_us + self._patience.mend_us)

    def _mended(self, turn: Turn) -> None:
        undertaking = self.undertaking
        if undertaking is not None and undertaking.step is Step.MEND:
            undertaking.go_on(Step.PREPARE)
            self._advance(turn)

    def _begin_drain(self, turn: Turn) -> None:
        turn.timer(DEADLINE, turn.now_us + self._patience.drain_us)
        self._advance(turn)

    def _check(self, turn: Turn) -> None:
        """Ask the brokers for Drained again that had not received all frames when they answered."""
        undertaking = self.undertaking
        if undertaking is None or not undertaking.is_decided:
            return
        for name in self._late_hearers(undertaking):
            undertaking.answers.pop(name, None)
            self._send(turn, name, DrainAsked(undertaking.epoch))

    def _late_hearers(self, undertaking: Undertaking) -> list[str]:
        """Living brokers that had not received all frames of older overlays when they answered."""
        answers = undertaking.answers
        followers = self._followers(undertaking)
        return late_hearers({name: answers.get(name) or {} for name in followers})

    def _followers(self, undertaking: Undertaking) -> list[str]:
        """Living brokers of the target overlay; others that just join the network are not in it."""
        return [name for name in self._alive() if name in undertaking.brokers]

    def _deadline(self, turn: Turn) -> None:
        """Time is up: abort a plan that is not decided, or finish one that does not drain."""
        undertaking = self.undertaking
        if undertaking is None:
            return
        answers = set(undertaking.answers).difference(undertaking.unready)
        missing = [name for name in self._followers(undertaking) if name not in answers]
        if undertaking.is_decided:
            self._finish(turn, undertaking, f"not waiting for {', '.join(missing) or 'the rest'}")
        else:
            self.abort(turn, f"in step prepare no answer from {', '.join(missing)}")

    def _finish(self, turn: Turn, undertaking: Undertaking, detail: str = "") -> None:
        self._report(turn, "done", detail)
        self._end(turn)
        for name in self._followers(undertaking):
            self._send(turn, name, Finish(undertaking.epoch))

    def _denied(self, turn: Turn, peer: str, message: Deny) -> None:
        if self.leads(message.epoch):
            self.abort(turn, f"{peer} denies: {message.why}")

    def _answered(self, turn: Turn, peer: str, message: Ready | Drained) -> None:
        undertaking = self._led(message.epoch)
        if undertaking is None or undertaking.is_decided is isinstance(message, Ready):
            return
        if peer in undertaking.told:
            undertaking.answers[peer] = message.marks
            undertaking.unready.discard(peer)
            if isinstance(message, Ready) and not message.is_ready:
                undertaking.unready.add(peer)
            self._advance(turn)

    def _abort_asked(self, turn: Turn, peer: str, message: AbortAsked) -> None:
        if self.leads(message.epoch):
            self.abort(turn, f"asked for at {peer}")

    def _led(self, epoch: int) -> Undertaking | None:
        return self.undertaking if self.leads(epoch) else None

    def _end(self, turn: Turn) -> None:
        assert self.undertaking is not None
        if self.undertaking.is_decided:
            self._finished(turn)
        self.undertaking = None
        self._watch(turn)

    def _report(self, turn: Turn, step: str, detail: str = "") -> None:
        undertaking = self.undertaking
        assert undertaking is not None
        lock = undertaking.lock
        turn.report(PlanRecord(plan=lock.plan, epoch=lock.epoch, step=step, detail=detail))
