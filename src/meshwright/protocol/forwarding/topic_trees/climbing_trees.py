"""Trees that grow from receivers up: a join stops at the first place that is in the tree already.

These are Scribe's trees, and those below the dominating nodes of SHG. A place is a broker, or a
position; one broker may stand for several positions, and sends nothing between its own. A place
that joined gets an answer when its parent is in the tree itself, up to the root, so a receiver
knows when frames reach it.
"""

from __future__ import annotations

from collections.abc import Callable

from meshwright.filters.filter import Filter
from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.topic_trees.demands import (
    Demand,
    Demands,
    End,
    Heirs,
    Place,
    Row,
    Trail,
    inherited,
    inherited_place,
)
from meshwright.protocol.forwarding.topic_trees.trees import Trees
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import Message
from meshwright.protocol.foundation.turn import Turn


class TreeJoin(ForwardingMessage, frozen=True, gc=False, tag=80):
    """Add a child to a place in the tree of a topic, and answer with the number."""

    counts_as = "subscription"

    topic: str
    place: Place
    child: Place
    number: int
    hops: int


class TreeLeave(ForwardingMessage, frozen=True, gc=False, tag=81):
    """Remove a child from a place in the tree of a topic."""

    counts_as = "subscription"

    topic: str
    place: Place
    child: Place


class TreeInstalled(ForwardingMessage, frozen=True, gc=False, tag=82):
    """The parent of a place is in the tree, up to the root: the answer to a TreeJoin."""

    counts_as = "acknowledgement"

    topic: str
    place: Place
    number: int


class BranchTable(Message, frozen=True, gc=False, tag=83):
    """All that a broker knows of the trees of topics, for its heir.

    standings: for each branch the number of its last join, whether that was answered, and the
        children still to be answered with their numbers.
    topics: those that the broker wants itself.
    """

    rows: tuple[Row, ...]
    standings: tuple[tuple[int, bool, tuple[tuple[End, int], ...]], ...]
    topics: tuple[str, ...]
    join_count: int


class Branch(Demand):
    """A place in the tree of a topic.

    number: of its last join.
    is_installed: that join was answered.
    unanswered: the children still to be answered, with the numbers of their joins.
    """

    __slots__ = ("is_installed", "number", "unanswered")

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.is_installed = False
        self.unanswered: dict[End, int] = {}


class ClimbingTrees(Trees):
    """One broker's places in the trees of all topics.

    parent: the end above a place in the tree of a topic; the root is its own parent.
    changed: called with every topic of which the children of a place here may have changed.
    """

    def __init__(
        self,
        around: Surroundings,
        own_place: Place,
        *,
        parent: Callable[[str, Place], End],
        changed: Callable[[str], None],
    ) -> None:
        super().__init__(around)
        self._own = End(own_place, around.me)
        self._branches = Demands(
            Branch, way=parent, tell=self._tell, retract=self._retract, changed=changed
        )
        self._join_count = 0

    @property
    def demands(self) -> tuple[Demands[Branch], ...]:
        return (self._branches,)

    def handlers(self) -> Handlers:
        return (
            *super().handlers(),
            on(TreeJoin, self._joined),
            on(TreeLeave, self._left),
            on(
                TreeInstalled,
                lambda turn, _, message: self._stand(
                    turn, message.topic, message.place, message.number
                ),
            ),
        )

    def children(self, topic: str, place: Place) -> tuple[End, ...]:
        """The ends below a place in the tree of a topic."""
        branch = self._branches.get(topic, place)
        if branch is None:
            return ()
        return tuple(source for source in branch.sources if source.place != place)

    def is_wanted(self, topic: str, place: Place) -> bool:
        """True if a topic has come up to a place."""
        return self._branches.get(topic, place) is not None

    def rooted(self, turn: Turn, topic: str, place: Place, *, is_wanted: bool) -> None:
        """A topic has come up to a root here, or is wanted below it no more."""

    def rooted_here(self) -> tuple[tuple[str, Place], ...]:
        """The topics that have come up to roots at this broker, each with its root."""
        rows = self._branches.rows()
        return tuple((topic, at) for topic, at, _, told, _ in rows if told and told.place == at)

    def table(self) -> BranchTable:
        """What the broker that inherits this one's position must know."""
        rows = self._branches.rows()
        branches = (self._branches.get(topic, place) for topic, place, _, _, _ in rows)
        standings = tuple(
            (branch.number, branch.is_installed, tuple(branch.unanswered.items()))
            for branch in branches
            if branch is not None
        )
        return BranchTable(rows, standings, tuple(self._wanted), self._join_count)

    def take_over(self, table: BranchTable, heirs: Heirs) -> tuple[Filter, ...]:
        """Start from the table of a position; returns filters for the topics wanted there.

        They count as wanted here until they are removed.
        """
        self._branches.load(table.rows, heirs)
        for (topic, place, _, _, _), standing in zip(table.rows, table.standings, strict=True):
            branch = self._branches.get(topic, inherited_place(place, heirs))
            assert branch is not None
            branch.number, branch.is_installed, unanswered = standing
            branch.unanswered = {inherited(end, heirs): number for end, number in unanswered}
        self._join_count = table.join_count
        return self.inherit(table.topics)

    def join(self, turn: Turn, topic: str) -> None:
        self._hear(turn, topic, self._own.place, self._own, number=0, hops=0)

    def leave(self, turn: Turn, topic: str) -> None:
        self._branches.unhear(turn, topic, self._own.place, self._own)

    def is_installed(self, topic: str) -> bool:
        branch = self._branches.get(topic, self._own.place)
        return branch is not None and branch.is_installed

    def _joined(self, turn: Turn, peer: str, message: TreeJoin) -> None:
        if self.listens_to(peer):
            source = End(message.child, peer)
            self._hear(
                turn, message.topic, message.place, source, number=message.number, hops=message.hops
            )

    def _left(self, turn: Turn, peer: str, message: TreeLeave) -> None:
        self._branches.unhear(turn, message.topic, message.place, End(message.child, peer))

    def _hear(
        self, turn: Turn, topic: str, place: Place, source: End, *, number: int, hops: int
    ) -> None:
        self._branches.hear(turn, topic, place, source, Trail(0, hops))
        branch = self._branches.get(topic, place)
        if branch is not None:
            branch.unanswered[source] = number
            if branch.is_installed:
                self._answer(turn, topic, place, branch)

    def _tell(self, turn: Turn, topic: str, place: Place, end: End, trail: Trail) -> None:
        """Join the tree at another parent, or be its root."""
        branch = self._branches.get(topic, place)
        assert branch is not None
        self._join_count += 1
        number = branch.number = self._join_count
        branch.is_installed = False
        if end.place == place:
            self._stand(turn, topic, place, number)
            self.rooted(turn, topic, place, is_wanted=True)
        elif end.host == self._around.me:
            source = End(place, end.host)
            self._hear(turn, topic, end.place, source, number=number, hops=trail.hops + 1)
        else:
            join = TreeJoin(
                self._around.epoch, topic, end.place, place, number=number, hops=trail.hops + 1
            )
            self._around.tell(turn, end.host, join)

    def _retract(self, turn: Turn, topic: str, place: Place, end: End) -> None:
        if end.place == place:
            self.rooted(turn, topic, place, is_wanted=False)
        elif end.host == self._around.me:
            self._branches.unhear(turn, topic, end.place, End(place, end.host))
        else:
            leave = TreeLeave(self._around.epoch, topic, end.place, place)
            self._around.tell(turn, end.host, leave)

    def _stand(self, turn: Turn, topic: str, place: Place, number: int) -> None:
        """The last join of a place was answered: answer all that wait below it."""
        branch = self._branches.get(topic, place)
        if branch is not None and branch.number == number:
            branch.is_installed = True
            self._answer(turn, topic, place, branch)
            # An own interest may have come while the place had to join once more.
            if self._own in branch.sources:
                self.installed(turn, topic)

    def _answer(self, turn: Turn, topic: str, place: Place, branch: Branch) -> None:
        unanswered, branch.unanswered = branch.unanswered, {}
        for source, number in unanswered.items():
            if source not in branch.sources:
                continue
            if source.host != self._around.me:
                answer = TreeInstalled(self._around.epoch, topic, source.place, number)
                self._around.tell(turn, source.host, answer)
            elif source.place == place:
                self.installed(turn, topic)
            else:
                self._stand(turn, topic, source.place, number)
