"""Fits a tree to its traffic: each broker now and then redraws the tree around itself [OCBR].

A broker counts which of its links each frame uses. After a period it runs the search that it was
given (settings.redraw) for a cheaper tree over itself and its neighbours, and if there is one,
proposes it (stars.py). The brokers whose links change are locked meanwhile. Of several masters that
would lock the same broker one goes on, and the others try again in a later round. While a neighbour
is dead the tree around it is mended provisionally, so nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from meshwright.model.neighbourhood import NeighbourhoodView, Redraw, Redrawn
from meshwright.model.overlay import Overlay
from meshwright.protocol.adaptation.traffic_classes import LinkSet, TrafficClasses
from meshwright.protocol.forwarding.living_tree import living_tree
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.events import HoldingGiven
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.reconfiguration.tree_rows import Link, named

LOOK = ("adaptation look",)
IS_HELD: DiskKey = ("adaptation held",)
# Off: the broker has no search.
AdaptationState = Literal["off", "on", "held"]
# A broker whose proposal was given up lets fewer rounds than this pass before the next.
BACK_OFF_ROUNDS_MAX = 4


class AdaptationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a tree fits itself to its traffic.

    redraw: the search for a cheaper tree over a broker and its neighbours.
    every_us: the period between two searches of a broker.
    classes_max: how many traffic classes a broker counts at most.
    """

    redraw: Redraw
    every_us: int = 60_000_000
    classes_max: int = 256


class AdaptationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports what became of a cheaper tree that a broker found around itself.

    step: proposed, applied or given up.
    change: its name in the records of stars.
    degree: how many neighbours the master had.
    """

    step: str
    change: str
    round_number: int
    degree: int
    added: tuple[Link, ...]
    removed: tuple[Link, ...]
    cost_before: int
    cost_after: int


class HoldingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports that an operator has the tree stay as it is, or adapt again."""

    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationAround:
    """What self-adaptation needs of the rest of the broker.

    in_force: the epoch and the overlay in force.
    is_free: True if neither the overlay nor a star is being changed here.
    wants: True if a client here subscribes to a topic, whatever its filter's clause asks.
    propose: replaces the first links by the second, later calls back with whether it was done;
        returns the name of the change.
    """

    in_force: Callable[[], tuple[int, Overlay]]
    alive: Callable[[], tuple[str, ...]]
    is_free: Callable[[], bool]
    wants: Callable[[str], bool]
    propose: Callable[[Turn, tuple[Link, ...], tuple[Link, ...], Callable[[Turn, bool], None]], str]


class SelfAdaptation:
    """Counts traffic and proposes changes, at one broker; without settings it does nothing."""

    def __init__(
        self, me: str, settings: AdaptationSettings | None, around: AdaptationAround
    ) -> None:
        self._me = me
        self._settings = settings
        self._around = around
        self._is_held = False
        self._classes = TrafficClasses(1 if settings is None else settings.classes_max)
        self._epoch = 0
        self._is_whole = False
        self._round = 0
        self._wait_rounds = 0
        self._proposed: AdaptationRecord | None = None

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start, propose nothing if an operator wanted that."""
        self._is_held = IS_HELD in disk

    @property
    def state(self) -> AdaptationState:
        """Whether this broker proposes changes of its tree."""
        if self._settings is None:
            return "off"
        return "held" if self._is_held else "on"

    def given(self, turn: Turn, event: HoldingGiven) -> None:
        """Propose nothing until further notice, or begin again; what is under way goes on."""
        if event.is_held != self._is_held:
            self._is_held = event.is_held
            turn.write(IS_HELD, True if event.is_held else None)
            turn.report(HoldingRecord(is_held=event.is_held))

    def started(self, turn: Turn) -> None:
        """Search every period from now on; the brokers' searches are spread over the period."""
        if self._settings is None:
            return
        self._epoch, overlay = self._around.in_force()
        turn_of_mine = sorted(overlay.brokers).index(self._me) + 1
        apart_us = self._settings.every_us * turn_of_mine // len(overlay.brokers)
        turn.timer(LOOK, turn.now_us + apart_us)

    def counter(self, epoch: int) -> Callable[[str, str, tuple[str, ...]], None] | None:
        """The function that counts which links a frame of an epoch used at this broker.

        This broker itself counts as one more link if a client here wants the frame.
        """
        if self._settings is None:
            return None

        def carried(topic: str, source: str, links: tuple[str, ...]) -> None:
            here = (self._me,) if self._around.wants(topic) else ()
            self._count(epoch, frozenset((source, *links, *here)))

        return carried

    def switched(self) -> None:
        """Another overlay is in force: drop the counts, which are of the old one."""
        epoch, _ = self._around.in_force()
        if epoch > self._epoch:
            self._begin(epoch, is_whole=False)

    def redrawn(self) -> None:
        """This broker's links have changed: drop the counts, which are of the old ones."""
        self._begin(self._epoch, is_whole=False)

    def look(self, turn: Turn) -> None:
        """A period is over: search for a cheaper tree around this broker, and propose it."""
        if self._settings is None:
            return
        turn.timer(LOOK, turn.now_us + self._settings.every_us)
        self._round += 1
        view = self._view() if self._is_due() else None
        if view is not None:
            redrawn = self._settings.redraw(view)
            if redrawn is not None:
                self._propose(turn, view, redrawn)
        self._begin(self._epoch, is_whole=True)

    def _count(self, epoch: int, used: LinkSet) -> None:
        """Count the links of one frame, unless it is of an older overlay.

        A frame of a newer epoch may come before this broker has switched: counting begins anew with
        it.
        """
        if epoch > self._epoch:
            self._begin(epoch, is_whole=False)
        if epoch == self._epoch and len(used) > 1:
            self._classes.count(used)

    def _is_due(self) -> bool:
        """True if a whole period was counted and nothing is being changed or held here.

        After a proposal that was given up, some rounds must pass as well.
        """
        if self._is_held:
            return False
        if self._wait_rounds:
            self._wait_rounds -= 1
            return False
        is_known = self._is_whole and len(self._classes) > 0
        return is_known and self._proposed is None and self._around.is_free()

    def _view(self) -> NeighbourhoodView | None:
        """What was counted, for the search; None if it does not fit the overlay in force.

        It does not while a neighbour is dead, or if frames used links that the overlay does not
        have.
        """
        _, overlay = self._around.in_force()
        planned = living_tree(overlay, frozenset(overlay.brokers))
        seen = frozenset(self._around.alive()).intersection(overlay.brokers)
        neighbours = planned[self._me]
        classes = self._classes.rows()
        known = {self._me, *neighbours}
        is_mended = living_tree(overlay, seen)[self._me] != neighbours
        if is_mended or not all(known.issuperset(links) for links, _ in classes):
            return None
        return NeighbourhoodView(
            round_number=self._round,
            broker_count=len(overlay.brokers),
            master=self._me,
            neighbours=neighbours,
            outer_degrees=tuple(len(planned[name]) - 1 for name in neighbours),
            classes=tuple(classes),
        )

    def _propose(self, turn: Turn, view: NeighbourhoodView, redrawn: Redrawn) -> None:
        _, overlay = self._around.in_force()
        star = {frozenset((view.master, name)) for name in view.neighbours}
        drawn = {frozenset(link) for link in redrawn.links}
        added, removed = named(overlay, drawn - star), named(overlay, star - drawn)
        self._proposed = record = AdaptationRecord(
            step="proposed",
            change=self._around.propose(turn, removed, added, self._ended),
            round_number=self._round,
            degree=len(view.neighbours),
            added=added,
            removed=removed,
            cost_before=redrawn.cost_before,
            cost_after=redrawn.cost_after,
        )
        turn.report(record)

    def _ended(self, turn: Turn, is_applied: bool) -> None:
        assert self._proposed is not None
        step = "applied" if is_applied else "given up"
        turn.report(msgspec.structs.replace(self._proposed, step=step))
        self._proposed = None
        if not is_applied:
            # Brokers whose names follow each other try again in different rounds.
            _, overlay = self._around.in_force()
            place = sorted(overlay.brokers).index(self._me)
            self._wait_rounds = (place + self._round) % BACK_OFF_ROUNDS_MAX

    def _begin(self, epoch: int, *, is_whole: bool) -> None:
        """Drop all counts; is_whole: a period begins now, and will be counted whole."""
        self._epoch = epoch
        self._is_whole = is_whole
        self._classes.clear()
