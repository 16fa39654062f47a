"""A tree that fits itself to its traffic: every broker now and then redraws its own star [OCBR].

A broker counts which of its links each message uses. After a period it asks the search that it was
given for a better tree among itself and its neighbours, and proposes the whole tree with that part
replaced as a change of overlay. The lock of that change is the network's, not only the
neighbourhood's: of several masters one goes on, the others look again later. Where brokers are
missing next to this one, the tree is mended rather than drawn, so nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from meshwright.errors import CallerError
from meshwright.model.overlay import Overlay
from meshwright.protocol.forwarding.living_tree import living_tree
from meshwright.protocol.reconfigure_in_force import plan_name
from meshwright.protocol.traffic_classes import LinkSet, TrafficClasses
from meshwright.protocol.turn import Turn

LOOK = ("adaptation look",)
# Rounds that a broker lets pass at most after its proposal came to nothing.
BACK_OFF_ROUNDS_MAX = 4

Link = tuple[str, str]


class NeighbourhoodView(msgspec.Struct, frozen=True, kw_only=True):
    """What a master knows of its star after a period.

    broker_count: in the whole tree. outer_degrees: links of each neighbour to others than the
    master. classes: names of the master (if it had clients who sent or wanted the message) and of
    the neighbours between whom a message travelled, and how many did.
    """

    round_number: int
    broker_count: int
    master: str
    neighbours: tuple[str, ...]
    outer_degrees: tuple[int, ...]
    classes: tuple[tuple[tuple[str, ...], int], ...]


class Redrawn(NamedTuple):
    """A tree over a master and its neighbours that is worth the change; costs are of the period."""

    links: tuple[Link, ...]
    cost_before: int
    cost_after: int


# The same view has the same answer; None if nothing is worth the change.
Redraw = Callable[[NeighbourhoodView], Redrawn | None]


class AdaptationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a tree fits itself to its traffic. every_us: the period between two looks of a broker."""

    redraw: Redraw
    every_us: int = 60_000_000
    classes_max: int = 256


class AdaptationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a better tree that a broker found for its neighbourhood.

    step: proposed, applied or given up. plan: its name in the records of the change of overlay.
    degree: how many neighbours the master had.
    """

    step: str
    plan: str
    round_number: int
    degree: int
    added: tuple[Link, ...]
    removed: tuple[Link, ...]
    cost_before: int
    cost_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationAround:
    """What self-adaptation asks of the rest of the broker.

    in_force: epoch and overlay. is_free: whether no change of overlay is under way here. wants:
    whether clients here want a topic, whatever they ask of the content. propose: have an overlay
    applied.
    """

    in_force: Callable[[], tuple[int, Overlay]]
    alive: Callable[[], tuple[str, ...]]
    is_free: Callable[[], bool]
    wants: Callable[[str], bool]
    propose: Callable[[Turn, Overlay], None]


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
        self._proposed: tuple[Overlay, AdaptationRecord] | None = None

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

    def switched(self, turn: Turn) -> None:
        """Another overlay is in force: what was proposed is applied, or too late."""
        epoch, overlay = self._around.in_force()
        if epoch > self._epoch:
            self._begin(epoch, is_whole=False)
        if self._proposed is not None:
            self._end(turn, "applied" if self._proposed[0] == overlay else "given up")

    def look(self, turn: Turn) -> None:
        """A period is over: propose a better neighbourhood, if there is one."""
        if self._settings is None:
            return
        turn.timer(LOOK, turn.now_us + self._settings.every_us)
        self._round += 1
        if self._proposed is not None and self._around.is_free():
            self._end(turn, "given up")
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
        target = with_links_replaced(overlay, star, drawn)
        record = AdaptationRecord(
            step="proposed",
            plan=plan_name(target),
            round_number=self._round,
            degree=len(view.neighbours),
            added=_named(overlay, drawn - star),
            removed=_named(overlay, star - drawn),
            cost_before=redrawn.cost_before,
            cost_after=redrawn.cost_after,
        )
        turn.report(record)
        self._proposed = (target, record)
        self._around.propose(turn, target)

    def _end(self, turn: Turn, step: str) -> None:
        assert self._proposed is not None
        overlay, record = self._proposed
        self._proposed = None
        ended = msgspec.structs.replace(record, step=step)
        # Before the new overlay is on disk, a crash here would take it back.
        turn.once_synced(lambda later: later.report(ended))
        if step != "applied":
            # Brokers next to each other in the order of names come to try in different rounds.
            place = sorted(overlay.brokers).index(self._me)
            self._wait_rounds = (place + self._round) % BACK_OFF_ROUNDS_MAX

    def _begin(self, epoch: int, *, is_whole: bool) -> None:
        """Count anew, from the middle of a period or for a whole one."""
        self._epoch = epoch
        self._is_whole = is_whole
        self._classes.clear()


def with_links_replaced(
    overlay: Overlay, old: set[frozenset[str]], new: set[frozenset[str]]
) -> Overlay:
    """The tree with some links in place of others; raises if that makes no tree."""
    links = {frozenset(link) for link in overlay.links} - old | new
    joined = {overlay.brokers[0]}
    waiting = sorted(map(sorted, links))
    while reaching := [link for link in waiting if not joined.isdisjoint(link)]:
        waiting = [link for link in waiting if joined.isdisjoint(link)]
        joined.update(name for link in reaching for name in link)
    if joined != set(overlay.brokers) or len(links) != len(joined) - 1:
        raise CallerError("the redrawn neighbourhood makes no tree of all brokers")
    return msgspec.structs.replace(overlay, links=_named(overlay, links))


def _named(overlay: Overlay, links: set[frozenset[str]]) -> tuple[Link, ...]:
    """Links in the order of the overlay's brokers."""
    numbers = {name: number for number, name in enumerate(overlay.brokers)}
    pairs = sorted(tuple(sorted(map(numbers.__getitem__, link))) for link in links)
    return tuple((overlay.brokers[one], overlay.brokers[other]) for one, other in pairs)
