"""Trees that grow from the root down: every receiver asks the root, which installs its route.

A join goes from the receiver to the root hop by hop. From there an install goes along the route
from the root to the receiver, and each broker on it notes the receivers behind each child.
[DYNATOPS, 1.1]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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
)
from meshwright.protocol.forwarding.topic_trees.trees import Trees
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import Message
from meshwright.protocol.foundation.turn import Turn


class ReceiverJoin(ForwardingMessage, frozen=True, gc=False, tag=84):
    """JOIN: a receiver wants a topic; on its way up to the topic's root."""

    counts_as = "subscription"

    topic: str
    receiver: str
    serial: int
    hops: int


class ReceiverInstall(ForwardingMessage, frozen=True, gc=False, tag=85):
    """TREE: a receiver is behind you; on its way down from the root."""

    counts_as = "subscription"

    topic: str
    receiver: str
    serial: int
    hops: int


class ReceiverLeave(ForwardingMessage, frozen=True, gc=False, tag=86):
    """LEAVE: a receiver no longer wants a topic; on its way up to the root."""

    counts_as = "subscription"

    topic: str
    receiver: str


class ReceiverPrune(ForwardingMessage, frozen=True, gc=False, tag=87):
    """PRUNE: a receiver is no longer behind you; on its way down from the root."""

    counts_as = "subscription"

    topic: str
    receiver: str


class TreeTable(Message, frozen=True, gc=False, tag=88):
    """All that a broker knows of the trees of topics, for its heir.

    rising, falling: its demands towards roots and towards receivers.
    serials: the topics that it wants itself, with the serials of its joins.
    """

    rising: tuple[Row, ...]
    falling: tuple[Row, ...]
    serials: dict[str, int]
    join_count: int


class RootedTrees(Trees):
    """One broker's part in the trees of all topics.

    root_hop: the next broker towards the root of a topic; this one if it is the root.
    receiver_hop: the next broker towards another one; None if that one does not seem alive.
    """

    def __init__(
        self,
        around: Surroundings,
        *,
        root_hop: Callable[[str], str],
        receiver_hop: Callable[[str], str | None],
        changed: Callable[[str], None],
    ) -> None:
        super().__init__(around)
        self._own = End(around.me, around.me)
        self._serials: dict[str, int] = {}
        self._join_count = 0
        self._rising = Demands(
            Demand,
            way=lambda topic, _: _end(root_hop(topic)),
            tell=self._tell_up,
            retract=self._retract_up,
            changed=changed,
        )
        self._falling = Demands(
            Demand,
            way=lambda _, receiver: _end(receiver_hop(str(receiver))),
            tell=self._tell_down,
            retract=self._retract_down,
            changed=changed,
        )

    @property
    def demands(self) -> tuple[Demands[Demand], ...]:
        return (self._rising, self._falling)

    def handlers(self) -> Handlers:
        return (
            *super().handlers(),
            on(ReceiverJoin, partial(self._hear, self._rising)),
            on(ReceiverInstall, partial(self._hear, self._falling)),
            on(ReceiverLeave, partial(_unhear, self._rising)),
            on(ReceiverPrune, partial(_unhear, self._falling)),
        )

    def children(self, topic: str) -> tuple[str, ...]:
        """The brokers below this one in the tree of a topic."""
        ends = (demand.told for demand in self._falling.of(topic))
        hosts = dict.fromkeys(end.host for end in ends if end is not None and end != self._own)
        return tuple(hosts)

    def table(self) -> TreeTable:
        """What the broker that inherits this one's position must know."""
        rising, falling = self._rising.rows(), self._falling.rows()
        return TreeTable(rising, falling, dict(self._serials), self._join_count)

    def take_over(self, table: TreeTable, heirs: Heirs) -> tuple[Filter, ...]:
        """Start from the table of a position; returns filters for the topics wanted there.

        They count as wanted here until they are removed.
        """
        self._rising.load(table.rising, heirs)
        self._falling.load(table.falling, heirs)
        self._serials = dict(table.serials)
        self._join_count = table.join_count
        return self.inherit(table.serials)

    def join(self, turn: Turn, topic: str) -> None:
        self._join_count += 1
        self._serials[topic] = self._join_count
        trail = Trail(self._join_count, 0)
        self._rising.hear(turn, topic, self._around.me, self._own, trail)

    def leave(self, turn: Turn, topic: str) -> None:
        del self._serials[topic]
        self._rising.unhear(turn, topic, self._around.me, self._own)

    def is_installed(self, topic: str) -> bool:
        demand = self._falling.get(topic, self._around.me)
        return demand is not None and demand.trail.serial == self._serials.get(topic)

    def _hear(
        self,
        demands: Demands[Demand],
        turn: Turn,
        peer: str,
        message: ReceiverJoin | ReceiverInstall,
    ) -> None:
        if self.listens_to(peer):
            trail = Trail(message.serial, message.hops)
            demands.hear(turn, message.topic, message.receiver, End(peer, peer), trail)

    def _tell_up(self, turn: Turn, topic: str, receiver: Place, end: End, trail: Trail) -> None:
        if end == self._own:
            self._falling.hear(turn, topic, receiver, self._own, Trail(trail.serial, 0))
        else:
            join = ReceiverJoin(
                self._around.epoch, topic, str(receiver), serial=trail.serial, hops=trail.hops + 1
            )
            self._around.tell(turn, end.host, join)

    def _retract_up(self, turn: Turn, topic: str, receiver: Place, end: End) -> None:
        if end == self._own:
            self._falling.unhear(turn, topic, receiver, self._own)
        else:
            self._around.tell(
                turn, end.host, ReceiverLeave(self._around.epoch, topic, str(receiver))
            )

    def _tell_down(self, turn: Turn, topic: str, receiver: Place, end: End, trail: Trail) -> None:
        if end != self._own:
            install = ReceiverInstall(
                self._around.epoch, topic, str(receiver), serial=trail.serial, hops=trail.hops + 1
            )
            self._around.tell(turn, end.host, install)
        elif trail.serial == self._serials.get(topic):
            self.installed(turn, topic)

    def _retract_down(self, turn: Turn, topic: str, receiver: Place, end: End) -> None:
        if end != self._own:
            self._around.tell(
                turn, end.host, ReceiverPrune(self._around.epoch, topic, str(receiver))
            )


def _end(hop: str | None) -> End | None:
    return None if hop is None else End(hop, hop)


def _unhear(
    demands: Demands[Demand], turn: Turn, peer: str, message: ReceiverLeave | ReceiverPrune
) -> None:
    demands.unhear(turn, message.topic, message.receiver, End(peer, peer))
