"""The broker that found a better star leads those whose links change: lock, prepare, switch, drain.

It locks them all or none: whoever is locked already says so at once, and nobody waits for a lock,
so no two masters can wait for each other. Of two that lock each other the lower name goes on. The
change is decided when its rows are on the master's own disk; before that a crash, a refusal or too
much time ends it, and nothing has changed.
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
from meshwright.protocol.forwarding.tree_tables import star_links
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
    """How far a change is for who leads it."""

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
    """One change under way; others: the brokers that it locks, answered: who has in this stage."""

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
        """The next stage begins, in which nobody has answered."""
        self.stage = STAGES.checked(self.stage, stage)
        self.answered = set()

    @property
    def brokers(self) -> tuple[str, ...]:
        return tuple(row.broker for row in self.rows)

    @property
    def is_decided(self) -> bool:
        """Whether it may be on disk, so that it can end in one way only."""
        return self.stage in (Stage.DECIDE, Stage.SWITCH)


class StarMaster:
    """Leads at most one change at a time."""

    def __init__(self, incarnation: int, around: StarAround) -> None:
        self._incarnation = incarnation
        self._around = around
        self._count = 0
        self.led: Led | None = None

    def handlers(self) -> Handlers:
        """Which message is for which method."""
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
        """Which timer is for which method."""
        return {DEADLINE[0]: self._deadline}

    def begin(
        self, turn: Turn, removed: Iterable[Link], added: Iterable[Link], ended: Ended
    ) -> str:
        """Put some links in the place of others; ended says whether that was decided.

        All of them are between this broker and its neighbours. Returns the name of the change.
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
        """Whether this broker leads nothing that another master has to wait for."""
        led = self.led
        if led is not None and led.stage is Stage.LOCK and peer < self._around.me:
            self._abort(turn, led, f"gives way to {peer}")
        return self.led is None

    def disturbed(self, turn: Turn, why: str) -> None:
        """Something else changes the links here: end the change, or hold up nothing for it."""
        led = self.led
        if led is not None and not led.is_decided:
            self._abort(turn, led, why)
        elif led is not None:
            self._around.let_go(turn)
            self._finish_if_drained(turn, led)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A broker of the star may have forgotten all."""
        led = self.led
        if led is None or peer not in led.others:
            return
        if not led.is_decided:
            self._abort(turn, led, f"{peer} may have forgotten it")
        elif led.stage is Stage.SWITCH:
            self._tell_switch(turn, led, peer)

    def overruled(self, turn: Turn) -> None:
        """Another overlay is in force: no change of the old one counts any more."""
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
        """All are locked and have heard each other: tell them their new links."""
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
        """All are ready: once the new rows are on disk, there is no way back."""
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
        """When all that live have sent their last by the old links, it has all arrived."""
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
        """Whoever knows links of that version tells them; only the master knows that none are."""
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
    """Whether both ends of a link are in a star."""
    return link[0] in star and link[1] in star


def _sending(around: StarAround, name: str, message: StarTables) -> Action:
    return lambda turn: around.send(turn, name, message)
