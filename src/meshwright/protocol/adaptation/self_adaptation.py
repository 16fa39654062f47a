"""Fits a tree to its traffic: each broker now and then redraws the tree around itself [OCBR].

A broker counts which of its links each frame uses. After a period it runs the search that it was
given (settings.redraw) for a cheaper tree over itself and its neighbours, and if there is one,
proposes it (stars.py). The brokers whose links change are locked meanwhile. Where clients may move,
each is a link of its own, and the search may hand it to a neighbour. Of several masters that
would lock the same broker one goes on, and the others try again in a later round. While a neighbour
is dead the tree around it is mended provisionally, so nothing is proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from meshwright.model.neighbourhood import CLIENT_MARK, NeighbourhoodView, Redraw, Redrawn
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.protocol.adaptation.own_clients import OwnClients
from meshwright.protocol.adaptation.traffic_classes import LinkSet, TrafficClasses
from meshwright.protocol.forwarding.acyclic.living_tree import living_tree
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
    moves_clients: whether clients may be sent to a neighbour.
    clients_max: how many clients one search may move, those with the most messages.
    """

    redraw: Redraw
    every_us: int = 60_000_000
    classes_max: int = 256
    moves_clients: bool = False
    clients_max: int = 12


class AdaptationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports what became of a cheaper tree that a broker found around itself.

    step: proposed, applied or given up.
    change: its name in the records of stars.
    degree: how many neighbours the master had.
    moves: clients that are sent to another broker once the links have changed, and to which.
    """

    step: str
    change: str
    round_number: int
    degree: int
    added: tuple[Link, ...]
    removed: tuple[Link, ...]
    cost_before: int
    cost_after: int
    moves: tuple[tuple[str, str], ...] = ()


class HoldingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports that an operator has the tree stay as it is, or adapt again."""

    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationAround:
    """What self-adaptation needs of the rest of the broker.

    in_force: the epoch and the overlay in force.
    is_free: True if neither the overlay nor a star is being changed here.
    propose: replaces the first links by the second, later calls back with whether it was done;
        returns the name of the change.
    """

    in_force: Callable[[], tuple[int, Overlay]]
    alive: Callable[[], tuple[str, ...]]
    is_free: Callable[[], bool]
    clients: OwnClients
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

    @property
    def counts_clients(self) -> bool:
        """Whether every client counts as a link of its own, because it may be moved."""
        return self._settings is not None and self._settings.moves_clients

    def counter(self, epoch: int) -> Callable[[Publication, str, tuple[str, ...]], None] | None:
        """The function that counts which links a frame of an epoch used at this broker.

        This broker itself counts as one more link if a client here wants the frame, unless clients
        count each; then what enters here is counted as it does.
        """
        if self._settings is None:
            return None

        def carried(publication: Publication, source: str, links: tuple[str, ...]) -> None:
            if not self.counts_clients:
                here = (self._me,) if self._around.clients.want(publication) else ()
                self._count(epoch, frozenset((source, *links, *here)))
            elif source != self._me:
                wanting = map(_marked, self._around.clients.wanting(publication))
                self._count(epoch, frozenset((source, *links, *wanting)))

        return carried

    def entered(self, publication: Publication, links: tuple[str, ...]) -> None:
        """Count what a client published here, also if nobody elsewhere wants it."""
        clients = (publication.client, *self._around.clients.wanting(publication))
        self._count(self._epoch, frozenset((*map(_marked, clients), *links)))

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
        clients = self._movable_clients()
        classes = self._classes_with(clients)
        known = {self._me, *neighbours, *clients}
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
            clients=clients,
        )

    def _movable_clients(self) -> tuple[str, ...]:
        """Marked names of the clients that one search may move."""
        assert self._settings is not None
        message_counts: Counter[str] = Counter()
        for members, count in self._classes.rows():
            for name in members:
                if name.startswith(CLIENT_MARK):
                    message_counts[name] += count
        movable = [
            name
            for name in sorted(message_counts, key=lambda name: (-message_counts[name], name))
            if self._around.clients.may_be_sent(name.removeprefix(CLIENT_MARK))
        ]
        return tuple(sorted(movable[: self._settings.clients_max]))

    def _classes_with(self, clients: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
        """What was counted, where clients that stay count as this broker, all together."""
        counts: Counter[tuple[str, ...]] = Counter()
        for members, count in self._classes.rows():
            stays = {one for one in members if one.startswith(CLIENT_MARK) and one not in clients}
            here = {self._me} if stays else set()
            counts[tuple(sorted({*members} - stays | here))] += count
        return sorted((members, count) for members, count in counts.items() if len(members) > 1)

    def _propose(self, turn: Turn, view: NeighbourhoodView, redrawn: Redrawn) -> None:
        _, overlay = self._around.in_force()
        star = {frozenset((view.master, name)) for name in view.neighbours}
        drawn = {frozenset(link) for link in redrawn.links}
        added, removed = named(overlay, drawn - star), named(overlay, star - drawn)
        record = AdaptationRecord(
            step="proposed",
            change="",
            round_number=self._round,
            degree=len(view.neighbours),
            added=added,
            removed=removed,
            cost_before=redrawn.cost_before,
            cost_after=redrawn.cost_after,
            moves=redrawn.moves,
        )
        if added:
            change = self._around.propose(turn, removed, added, self._ended)
            self._proposed = msgspec.structs.replace(record, change=change)
            turn.report(self._proposed)
        else:
            self._apply(turn, record)
            # In the next period clients are still on their way.
            self._wait_rounds = 1

    def _ended(self, turn: Turn, is_applied: bool) -> None:
        assert self._proposed is not None
        record, self._proposed = self._proposed, None
        if is_applied:
            self._apply(turn, record)
        else:
            turn.report(msgspec.structs.replace(record, step="given up"))
            # Brokers whose names follow each other try again in different rounds.
            _, overlay = self._around.in_force()
            place = sorted(overlay.brokers).index(self._me)
            self._wait_rounds = (place + self._round) % BACK_OFF_ROUNDS_MAX

    def _apply(self, turn: Turn, record: AdaptationRecord) -> None:
        """The links are as proposed: send the clients that are to move."""
        turn.report(msgspec.structs.replace(record, step="applied"))
        for client, target in record.moves:
            self._around.clients.send(turn, client, target)

    def _begin(self, epoch: int, *, is_whole: bool) -> None:
        """Drop all counts; is_whole: a period begins now, and will be counted whole."""
        self._epoch = epoch
        self._is_whole = is_whole
        self._classes.clear()


def _marked(client: str) -> str:
    return f"{CLIENT_MARK}{client}"
