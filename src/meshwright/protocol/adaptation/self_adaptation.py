"""A tree that fits itself to its traffic: every broker now and then redraws its own star [OCBR].

A broker counts which of its links each message uses. After a period it asks the search that it was
given for a better tree among itself and its neighbours, and has that part redrawn (stars.py).
Those whose links change are locked meanwhile: of several masters that would lock the same broker
one goes on, the others look again later. Where brokers are missing next to this one, the tree is
mended rather than drawn, so nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from meshwright.model.neighbourhood import NeighbourhoodView, Redraw, Redrawn
from meshwright.model.overlay import Overlay
from meshwright.protocol.adaptation.traffic_classes import LinkSet, TrafficClasses
from meshwright.protocol.forwarding.living_tree import living_tree
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.reconfiguration.tree_rows import Link, named

LOOK = ("adaptation look",)
# Rounds that a broker lets pass at most after its proposal came to nothing.
BACK_OFF_ROUNDS_MAX = 4


class AdaptationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a tree fits itself to its traffic. every_us: the period between two looks of a broker."""

    redraw: Redraw
    every_us: int = 60_000_000
    classes_max: int = 256


class AdaptationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a better tree that a broker found for its neighbourhood.

    step: proposed, applied or given up. change: its name in the records of the star. degree: how
    many neighbours the master had.
    """

    step: str
    change: str
    round_number: int
    degree: int
    added: tuple[Link, ...]
    removed: tuple[Link, ...]
    cost_before: int
    cost_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationAround:
    """What self-adaptation asks of the rest of the broker.

    in_force: epoch and overlay. is_free: whether neither the overlay nor a star is being changed
    here. wants: whether clients here want a topic, whatever they ask of the content. propose: have
    links put in the place of others, and be told whether they were; returns the name of the change.
    """

    in_force: Callable[[], tuple[int, Overlay]]
    alive: Callable[[], tuple[str, ...]]
    is_free: Callable[[], bool]
    wants: Callable[[str], bool]
    propose: Callable[[Turn, tuple[Link, ...], tuple[Link, ...], Callable[[Turn, bool], None]], str]


class SelfAdaptation:
    """One broker's part: it counts, looks, proposes, and waits where others were first.

    Without settings it does nothing.
    """

    def __init__(
        self, me: str, settings: AdaptationSettings | None, around: AdaptationAround
    ) -> None:
        self._me = me
        self._settings = settings
        self._around = around
        self._classes = TrafficClasses(1 if settings is None else settings.classes_max)
        self._epoch = 0
        self._is_whole = False
        self._round = 0
        self._wait_rounds = 0
        self._proposed: AdaptationRecord | None = None

    def started(self, turn: Turn) -> None:
        """Look every period from now on; brokers take turns within one."""
        if self._settings is None:
            return
        self._epoch, overlay = self._around.in_force()
        turn_of_mine = sorted(overlay.brokers).index(self._me) + 1
        apart_us = self._settings.every_us * turn_of_mine // len(overlay.brokers)
        turn.timer(LOOK, turn.now_us + apart_us)

    def counter(self, epoch: int) -> Callable[[str, str, tuple[str, ...]], None] | None:
        """Counts the links that frames of an epoch use, the clients here as one more."""
        if self._settings is None:
            return None

        def carried(topic: str, source: str, links: tuple[str, ...]) -> None:
            here = (self._me,) if self._around.wants(topic) else ()
            self._count(epoch, frozenset((source, *links, *here)))

        return carried

    def switched(self) -> None:
        """Another overlay is in force: what was counted before says nothing about it."""
        epoch, _ = self._around.in_force()
        if epoch > self._epoch:
            self._begin(epoch, is_whole=False)

    def redrawn(self) -> None:
        """This broker has other links than before."""
        self._begin(self._epoch, is_whole=False)

    def look(self, turn: Turn) -> None:
        """A period is over: propose a better neighbourhood, if there is one."""
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
        """Older overlays run dry; a newer one may be used by others before it is in force here."""
        if epoch > self._epoch:
            self._begin(epoch, is_whole=False)
        if epoch == self._epoch and len(used) > 1:
            self._classes.count(used)

    def _is_due(self) -> bool:
        """Whether a whole period was seen, nobody else changes anything, and it is time."""
        if self._wait_rounds:
            self._wait_rounds -= 1
            return False
        is_known = self._is_whole and len(self._classes) > 0
        return is_known and self._proposed is None and self._around.is_free()

    def _view(self) -> NeighbourhoodView | None:
        """What was seen, unless the star is not as the overlay has it, or was not throughout."""
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
            # Brokers next to each other in the order of names come to try in different rounds.
            _, overlay = self._around.in_force()
            place = sorted(overlay.brokers).index(self._me)
            self._wait_rounds = (place + self._round) % BACK_OFF_ROUNDS_MAX

    def _begin(self, epoch: int, *, is_whole: bool) -> None:
        """Count anew, from the middle of a period or for a whole one."""
        self._epoch = epoch
        self._is_whole = is_whole
        self._classes.clear()
