"""The master of a star leads the brokers whose links change: lock, prepare, switch, drain.

The master is the broker that found the cheaper star. It locks all of these brokers or none: a
broker that is locked already refuses at once, and nobody waits for a lock, so no two masters can
wait for each other. Of two masters that lock each other the lower name goes on. The change is
decided when its rows are on the master's own disk. Before that a crash of the master, a refusal or
a timeout ends it, and the links stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from meshwright.protocol.adaptation.star_around import StarAround, report
from meshwright.protocol.adaptation.star_messages import (
    StarAbort,
    StarDenied,
    StarDrained,
    StarFinish,
    StarGranted,
    StarLock,
    StarQuestion,
    StarReady,
    StarSwitch,
    StarTables,
)
from meshwright.protocol.forwarding.acyclic.tree_tables import star_links
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.reconfiguration.tree_rows import (
    Link,
    TreeRow,
    peers_of,
    with_links_replaced,
    with_rows,
)

DEADLINE = ("star deadline",)

Ended = Callable[[Turn, bool], None]


class Stage(Enum):
    """How far a change is at its master."""

    LOCK = "the others are asked to be locked for it"
    PREPARE = "they are given their new links, and say when they are ready"
    DECIDE = "the new rows are on their way to this broker's disk"
    SWITCH = "it is decided: all use the new links, and what went by the old ones arrives"


STAGES = Transitions(
    {
        Stage.LOCK: (Stage.PREPARE,),
        Stage.PREPARE: (Stage.DECIDE,),
        Stage.DECIDE: (Stage.SWITCH,),
        Stage.SWITCH: (),
    }
)


class Led:
    """One change that this broker leads.

    others: the brokers that it locks.
    answered: those of them that have answered in this stage.
    ended: called when it is known whether the change is applied.
    """

    __slots__ = ("answered", "change", "ended", "others", "rows", "stage")

    def __init__(
        self, change: str, rows: tuple[TreeRow, ...], others: tuple[str, ...], ended: Ended
    ) -> None:
        self.change = change
        self.rows = rows
        self.others = others
        self.ended = ended
        self.stage = Stage.LOCK
        self.answered: set[str] = set()

    def go_on(self, stage: Stage) -> None:
        """Begin the next stage; no broker has answered in it yet."""
        self.stage = STAGES.checked(self.stage, stage)
        self.answered = set()

    @property
    def brokers(self) -> tuple[str, ...]:
        return tuple(row.broker for row in self.rows)

    @property
    def is_decided(self) -> bool:
        """True if the rows may be on the master's disk, so that the change cannot be aborted."""
        return self.stage in (Stage.DECIDE, Stage.SWITCH)


class StarMaster:
    """Leads at most one change at a time."""

    def __init__(self, incarnation: int, around: StarAround) -> None:
        self._incarnation = incarnation
        self._around = around
        self._count = 0
        self.led: Led | None = None

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(
                StarGranted,
                lambda turn, peer, it: self._answered(turn, peer, it.change, Stage.LOCK),
            ),
            on(
                StarReady,
                lambda turn, peer, it: self._answered(turn, peer, it.change, Stage.PREPARE),
            ),
            on(
                StarDrained,
                lambda turn, peer, it: self._answered(turn, peer, it.change, Stage.SWITCH),
            ),
            on(StarDenied, self._denied),
            on(StarQuestion, self._questioned),
        )

    def timers(self) -> dict[str, Action]:
        """Map each timer to its method."""
        return {DEADLINE[0]: self._deadline}

    def begin(
        self, turn: Turn, removed: Iterable[Link], added: Iterable[Link], ended: Ended
    ) -> str:
        """Begin to replace links between this broker and its neighbours; returns the change's name.

        ended: called when it is known whether the links are replaced.
        """
        around, removed, added = self._around, tuple(removed), tuple(added)
        target = with_links_replaced(around.in_force.overlay, removed, added)
        star = sorted({name for link in (*removed, *added) for name in link} | {around.me})
        rows = tuple(
            TreeRow(name, around.version(name) + 1, peers_of(target, name)) for name in star
        )
        self._count += 1
        change = f"{around.me}.{self._incarnation}.{self._count}"
        led = self.led = Led(change, rows, tuple(name for name in star if name != around.me), ended)
        report(turn, change, "asked", star)
        turn.timer(DEADLINE, turn.now_us + around.settings.patience_us)
        versions = {name: around.version(name) for name in star}
        for name in led.others:
            around.send(turn, name, StarLock(change, around.in_force.epoch, versions))
        return change

    def gives_way_to(self, turn: Turn, peer: str) -> bool:
        """True if another master may lock this broker, which then leads no change.

        A change of this broker that has not locked all is aborted if the other's name is lower.
        """
        led = self.led
        if led is not None and led.stage is Stage.LOCK and peer < self._around.me:
            self._abort(turn, led, f"gives way to {peer}")
        return self.led is None

    def disturbed(self, turn: Turn, why: str) -> None:
        """Something else changes links here: abort, or if decided let filters spread again."""
        led = self.led
        if led is not None and not led.is_decided:
            self._abort(turn, led, why)
        elif led is not None:
            self._around.let_go(turn)
            self._finish_if_drained(turn, led)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A broker of the star may have restarted: abort, or if decided tell it to switch again."""
        led = self.led
        if led is None or peer not in led.others:
            return
        if not led.is_decided:
            self._abort(turn, led, f"{peer} may have forgotten it")
        elif led.stage is Stage.SWITCH:
            self._tell_switch(turn, led, peer)

    def overruled(self, turn: Turn) -> None:
        """Another overlay is in force: end the change, which is void."""
        led = self.led
        if led is not None:
            self._end(turn, led, "aborted", "another overlay is in force")
            if led.stage is not Stage.SWITCH:
                led.ended(turn, False)

    def _answered(self, turn: Turn, peer: str, change: str, stage: Stage) -> None:
        led = self._led(change)
        if led is None or led.stage is not stage or peer not in led.others:
            return
        led.answered.add(peer)
        if stage is Stage.SWITCH:
            self._finish_if_drained(turn, led)
        elif led.answered.issuperset(led.others):
            if stage is Stage.LOCK:
                self._prepare(turn, led)
            else:
                self._decide(turn, led)

    def _prepare(self, turn: Turn, led: Led) -> None:
        """All brokers are locked: compute the filters on their new links, and tell each its own."""
        around = self._around
        tree = around.tree()
        assert tree is not None
        led.go_on(Stage.PREPARE)
        tree.pause()
        star = led.brokers
        overlay = with_rows(around.in_force.overlay, led.rows)
        inner = [link for link in overlay.links if star_has(star, link)]
        links = star_links(inner, tree.behind(star), tree.rules)
        versions = {row.broker: row.version for row in led.rows}
        if not tree.prepare(overlay, versions, links[around.me]):
            self._abort(turn, led, "not all brokers of the star are seen alive")
            return
        around.relink(turn)
        for name in led.others:
            around.news.tell(turn, name)
            message = StarTables(led.change, led.rows, links[name])
            turn.once_synced(_sending(around, name, message))

    def _decide(self, turn: Turn, led: Led) -> None:
        """All brokers are ready: write the rows to disk; once synced, tell all to switch."""
        led.go_on(Stage.DECIDE)
        report(turn, led.change, "prepared", led.brokers)
        around = self._around
        around.in_force.redraw(turn, led.rows)

        def written(later: Turn) -> None:
            if self.led is led:
                led.go_on(Stage.SWITCH)
                report(later, led.change, "decided", led.brokers)
                around.adopt(later, led.rows, led.brokers)
                later.timer(DEADLINE, later.now_us + around.settings.patience_us)
                for name in led.others:
                    self._tell_switch(later, led, name)
                led.ended(later, True)

        turn.once_synced(written)

    def _tell_switch(self, turn: Turn, led: Led, name: str) -> None:
        version = next(row.version for row in led.rows if row.broker == name)
        self._around.send(turn, name, StarSwitch(led.change, version))

    def _finish_if_drained(self, turn: Turn, led: Led) -> None:
        """Finish when all living brokers of the star have sent StarDrained.

        Messages of a conversation keep their order, so their last frames by the old links came
        before.
        """
        alive = self._around.alive()
        waiting = [one for one in led.others if one in alive and one not in led.answered]
        if led.stage is Stage.SWITCH and not waiting:
            self._finish(turn, led)

    def _finish(self, turn: Turn, led: Led, detail: str = "") -> None:
        for name in led.others:
            self._around.send(turn, name, StarFinish(led.change))
        self._end(turn, led, "done", detail)

    def _abort(self, turn: Turn, led: Led, why: str) -> None:
        for name in led.others:
            self._around.send(turn, name, StarAbort(led.change))
        self._end(turn, led, "aborted", why)
        led.ended(turn, False)

    def _end(self, turn: Turn, led: Led, step: str, detail: str) -> None:
        self.led = None
        report(turn, led.change, step, led.brokers, detail)
        self._around.let_go(turn)

    def _deadline(self, turn: Turn) -> None:
        led = self.led
        if led is None or led.stage is Stage.DECIDE:
            return
        missing = ", ".join(one for one in led.others if one not in led.answered)
        if led.is_decided:
            self._finish(turn, led, f"not waiting for {missing}")
        else:
            self._abort(turn, led, f"in stage {led.stage.name.lower()} no answer from {missing}")

    def _denied(self, turn: Turn, peer: str, message: StarDenied) -> None:
        led = self._led(message.change)
        if led is not None and not led.is_decided:
            self._abort(turn, led, f"{peer} denies: {message.why}")

    def _questioned(self, turn: Turn, peer: str, message: StarQuestion) -> None:
        """Answer what became of a change, if this broker can.

        A broker that knows a row of that version tells it. Only the master can say that the change
        was not decided.
        """
        around, led = self._around, self._led(message.change)
        if led is not None:
            if led.stage is Stage.SWITCH:
                self._tell_switch(turn, led, peer)
        elif around.version(peer) >= message.version:
            around.news.tell_all(turn, peer)
        elif message.change.rsplit(".", 2)[0] == around.me:
            around.send(turn, peer, StarAbort(message.change))

    def _led(self, change: str) -> Led | None:
        return self.led if self.led is not None and self.led.change == change else None


def star_has(star: tuple[str, ...], link: Link) -> bool:
    """True if both ends of a link are in a star."""
    return link[0] in star and link[1] in star


def _sending(around: StarAround, name: str, message: StarTables) -> Action:
    return lambda turn: around.send(turn, name, message)
