"""The broker that was given a plan leads all others through it: lock, prepare, switch, drain.

All brokers seen alive must follow, and they must be more than half of all, so that two plans never
pass each other unseen. The plan is decided when the coordinator has the new overlay on its own
disk; before that a crash, a refusal or too much time ends it, and nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from meshwright.protocol.reconfigure_messages import (
    Abort,
    AbortAsked,
    Deny,
    Done,
    Finish,
    Grant,
    Lock,
    PlanRecord,
    Prepare,
    Ready,
    Switch,
    Switched,
)
from meshwright.protocol.turn import Action, Turn

DEADLINE = ("reconfigure deadline",)


class Undertaking:
    """One plan under way. told and answered are the brokers of the present step."""

    __slots__ = ("answered", "granted", "lock", "step", "told")

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.granted: set[str] = set()
        self.begin("lock")

    def begin(self, step: Literal["lock", "prepare", "switch", "drain"]) -> None:
        """Go on to a step, in which nobody was told or has answered yet."""
        self.step = step
        self.told: dict[str, None] = {}
        self.answered: set[str] = set()

    @property
    def epoch(self) -> int:
        return self.lock.epoch

    @property
    def is_decided(self) -> bool:
        return self.step in {"switch", "drain"}


class Coordinator:
    """Leads at most one plan at a time.

    alive: the brokers seen alive, this one among them. watch: called when the links to keep change.
    finished: called when a plan that was decided is at its end.
    """

    def __init__(
        self,
        me: str,
        broker_count: int,
        patience_us: int,
        *,
        send: Callable[[Turn, str, Any], None],
        alive: Callable[[], tuple[str, ...]],
        watch: Action,
        finished: Action,
    ) -> None:
        self._me = me
        self._broker_count = broker_count
        self._patience_us = patience_us
        self._send = send
        self._alive = alive
        self._watch = watch
        self._finished = finished
        self.undertaking: Undertaking | None = None

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {
            Grant: self._granted,
            Deny: self._denied,
            Ready: self._ready,
            Switched: self._switched,
            Done: self._done,
            AbortAsked: self._abort_asked,
        }

    def begin(self, turn: Turn, lock: Lock) -> None:
        """Lead all brokers to the overlay of a lock."""
        self.undertaking = Undertaking(lock)
        self._report(turn, "asked")
        self._watch(turn)
        turn.timer(DEADLINE, turn.now_us + self._patience_us)
        self._advance(turn)

    def resume(self, turn: Turn, lock: Lock) -> None:
        """After a crash: bring a plan to its end that was decided before."""
        if self.undertaking is None:
            self.undertaking = Undertaking(lock)
            self.undertaking.begin("switch")
            self._watch(turn)
            self._advance(turn)

    def leads(self, epoch: int) -> bool:
        """Whether the plan of an epoch is under way here."""
        return self.undertaking is not None and self.undertaking.epoch == epoch

    def abort(self, turn: Turn, why: str) -> bool:
        """End the plan unless it is decided; says whether it was ended."""
        undertaking = self.undertaking
        if undertaking is None or undertaking.is_decided:
            return False
        self._report(turn, "aborted", why)
        asked = {*undertaking.granted, *undertaking.told}
        self._end(turn)
        for name in sorted(asked):
            self._send(turn, name, Abort(undertaking.epoch))
        return True

    def overtaken(self, turn: Turn, epoch: int) -> None:
        """A newer overlay is in force here: a plan for an older one is at its end."""
        if self.undertaking is not None and self.undertaking.epoch < epoch:
            self._report(turn, "superseded", f"epoch {epoch} is in force")
            self._end(turn)

    def deadline(self, turn: Turn) -> None:
        """Patience is at its end, unless the plan is decided."""
        undertaking = self.undertaking
        if undertaking is not None:
            missing = [name for name in self._alive() if name not in undertaking.answered]
            self.abort(turn, f"in step {undertaking.step} no answer from {', '.join(missing)}")

    def alive_changed(self, turn: Turn) -> None:
        """Nobody waits for the dead, and whoever lives must follow."""
        self._advance(turn)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A broker may have forgotten all: begin anew with it."""
        undertaking = self.undertaking
        if undertaking is not None:
            undertaking.granted.discard(peer)
            undertaking.told.pop(peer, None)
            undertaking.answered.discard(peer)
            self._advance(turn)

    def _advance(self, turn: Turn) -> None:
        """Tell those who were not told, and go on to the next step when all have answered."""
        undertaking = self.undertaking
        if undertaking is None:
            return
        # Itself last: it answers at once, and by then everybody else must have been told.
        others = [name for name in self._alive() if name != self._me]
        for name in [*others, self._me]:
            if self.undertaking is undertaking and name not in undertaking.told:
                self._tell(turn, undertaking, name)
        if self.undertaking is undertaking and self._is_complete(undertaking):
            self._next(turn, undertaking)

    def _tell(self, turn: Turn, undertaking: Undertaking, name: str) -> None:
        epoch = undertaking.epoch
        message: Any
        if undertaking.step == "switch":
            # First on its own disk: from then on the plan is decided.
            if name != self._me and self._me not in undertaking.answered:
                return
            message = Switch(epoch, undertaking.lock.target, undertaking.lock.moves)
        elif undertaking.step == "drain":
            message = Finish(epoch)
        elif name not in undertaking.granted:
            message = undertaking.lock
        elif undertaking.step == "prepare":
            message = Prepare(epoch)
        else:
            return
        undertaking.told[name] = None
        self._send(turn, name, message)

    def _is_complete(self, undertaking: Undertaking) -> bool:
        answered = undertaking.answered
        has_majority = 2 * len(answered) > self._broker_count or undertaking.is_decided
        return has_majority and all(name in answered for name in self._alive())

    def _next(self, turn: Turn, undertaking: Undertaking) -> None:
        if undertaking.step == "lock":
            self._report(turn, "locked")
            undertaking.begin("prepare")
        elif undertaking.step == "prepare":
            self._report(turn, "prepared")
            undertaking.begin("switch")
        elif undertaking.step == "switch":
            undertaking.begin("drain")
        else:
            self._report(turn, "done")
            self._end(turn)
            return
        self._advance(turn)

    def _granted(self, turn: Turn, peer: str, message: Grant) -> None:
        undertaking = self._led(message.epoch)
        if undertaking is None or undertaking.is_decided:
            return
        undertaking.granted.add(peer)
        if undertaking.step == "lock":
            undertaking.answered.add(peer)
        else:
            undertaking.told.pop(peer, None)
        self._advance(turn)

    def _denied(self, turn: Turn, peer: str, message: Deny) -> None:
        if self.leads(message.epoch):
            self.abort(turn, f"{peer} denies: {message.why}")

    def _ready(self, turn: Turn, peer: str, message: Ready) -> None:
        self._answered(turn, peer, message.epoch, "prepare")

    def _switched(self, turn: Turn, peer: str, message: Switched) -> None:
        undertaking = self._led(message.epoch)
        if undertaking is None:
            return
        if undertaking.step == "drain":
            # It was told late, when the others had switched long since.
            self._send(turn, peer, Finish(undertaking.epoch))
        elif peer == self._me and peer not in undertaking.answered:
            self._report(turn, "decided")
        self._answered(turn, peer, message.epoch, "switch")

    def _done(self, turn: Turn, peer: str, message: Done) -> None:
        self._answered(turn, peer, message.epoch, "drain")

    def _answered(self, turn: Turn, peer: str, epoch: int, step: str) -> None:
        undertaking = self._led(epoch)
        if undertaking is not None and undertaking.step == step:
            undertaking.answered.add(peer)
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
