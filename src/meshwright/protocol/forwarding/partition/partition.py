"""Forwarding on a hypercube: interest stays in its part, a frame visits the heads of all parts.

Interest climbs from a broker's position towards its dominating node, up to the first position that
knows the topic. A frame climbs to the dominating node of its origin, crosses to all others, and
from each goes down where interest came up, or to all below it if any did (events = "broadcast"). A
broker may stand for several positions, also those of dead brokers, and sends nothing between its
own. What a dead broker knew is not replicated: brokers below it tell it again to the one that
stands in. Positions are visited in a strict order, whoever stands for them, so no frame goes in a
circle. [SHG, 2.2]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from meshwright.filters.filter import Filter
from meshwright.overlays.hypercube import SubscriptionReading, readings_of
from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings, linked_with
from meshwright.protocol.forwarding.partition.cube_hosts import cube_hosts
from meshwright.protocol.forwarding.partition.sub_partitions import ToldTrees
from meshwright.protocol.forwarding.recent_frames import RecentFrames, frame_key
from meshwright.protocol.forwarding.topic_trees.climbing_trees import BranchTable, ClimbingTrees
from meshwright.protocol.forwarding.topic_trees.demands import End, Place
from meshwright.protocol.foundation.dispatch import on, table_of
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn

ROUTES_MAX = 65_536
VISIT = 1

TREES: dict[SubscriptionReading, type[ClimbingTrees]] = {
    "path": ClimbingTrees,
    "sub_partition": ToldTrees,
}

# A broker, and the position for which it gets a frame.
Drop = tuple[str, int]


class ToDominator(ForwardingMessage, frozen=True, gc=False, tag=68):
    """A frame at a position on its way up to the dominating node."""

    counts_as = "publication"
    is_entering = True

    frame: StreamFrame
    position: int
    hops: int


class AcrossDominators(ForwardingMessage, frozen=True, gc=False, tag=69):
    """A frame that came to a dominating node over a dimension of their cube."""

    counts_as = "publication"

    frame: StreamFrame
    position: int
    dimension: int
    hops: int


class FromDominator(ForwardingMessage, frozen=True, gc=False, tag=70):
    """A frame at a position on its way down to brokers that want it."""

    counts_as = "publication"

    frame: StreamFrame
    position: int
    hops: int


class Crossing(NamedTuple):
    """What a broker does with a frame at a dominating node.

    sent: brokers to send it across to, with position and dimension.
    dominators: own positions from which it goes down.
    """

    sent: tuple[tuple[str, int, int], ...]
    dominators: tuple[int, ...]


class Partition:
    """One broker's part in forwarding on a hypercube."""

    accepts: Literal["topic", "filter"] = "topic"

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._seen = frozenset(around.overlay.brokers)
        self._view = cube_hosts(around.overlay, self._seen)
        self._position = (around.overlay.positions or {})[around.me]
        readings = readings_of(around.overlay.params)
        self._is_broadcast = readings.events == "broadcast"
        self._falls: dict[str, dict[int, tuple[Drop, ...]]] = {}
        self._crossings: dict[tuple[int, int], Crossing] = {}
        # Computed when first asked for.
        self._neighbours: tuple[str, ...] = ()
        self._recent = RecentFrames()
        trees = TREES[readings.subscriptions]
        self._trees = trees(around, self._position, parent=self._parent, changed=self._tree_changed)
        self._handlers = table_of(
            *self._trees.handlers(),
            on(ToDominator, self._to_dominator),
            on(AcrossDominators, self._across_dominators),
            on(FromDominator, self._from_dominator),
        )

    def neighbours(self) -> tuple[str, ...]:
        """Neighbours by the overlay, and brokers that stand in for dead ones."""
        if not self._neighbours:
            me = self._around.me
            self._neighbours = linked_with(self._around.overlay, me, self._view.neighbours(me))
        return self._neighbours

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        self._trees.add_interest(turn, wanted, done)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        self._trees.remove_interest(turn, wanted)

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        self._recent.note(frame_key(frame), VISIT)
        self._climb(turn, frame, self._position, 0)

    def handle(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        self._handlers[type(message)](turn, peer, message)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """Nothing here waits for a time."""

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        seen = frozenset(alive).intersection(self._around.overlay.brokers) | {self._around.me}
        if seen != self._seen:
            self._seen = seen
            self._neighbours = ()
            self._view = cube_hosts(self._around.overlay, seen)
            self._falls.clear()
            self._crossings.clear()
            self._trees.see(turn, seen)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        self._trees.renew(turn, peer)

    def knowledge(self) -> BranchTable:
        return self._trees.table()

    def inherit(self, knowledge: Any, heirs: Mapping[str, str]) -> tuple[Filter, ...]:
        return self._trees.take_over(knowledge, heirs)

    def settle(self, turn: Turn, done: Action) -> None:
        self._trees.settle(turn)
        done(turn)

    def known(self, position: int) -> tuple[str, ...] | None:
        """What is known to be wanted around an own position, where all of a part is told that."""
        return self._trees.told.known(position) if isinstance(self._trees, ToldTrees) else None

    def path(self, topic: str, source: str) -> tuple[tuple[str, str], ...]:
        """The hops up, across and down from the positions that this broker stands for."""
        me, view = self._around.me, self._view
        position = (self._around.overlay.positions or {})[source]
        targets = []
        while not view.is_dominating(position):
            parent = view.parents[position]
            if view.hosts[position] == me != view.hosts[parent]:
                targets.append(view.hosts[parent])
            position = parent
        reached = [(position, -1)]
        for dominator, dimension in reached:
            reached.extend(view.across(dominator, dimension))
            if view.hosts[dominator] == me:
                crossing = self._crossing(dominator, dimension)
                targets.extend(host for host, _, _ in crossing.sent)
        for position, host in enumerate(view.hosts):
            if host == me:
                targets.extend(below for below, _ in self._fall(topic, position))
        return tuple((me, target) for target in dict.fromkeys(targets))

    def _to_dominator(self, turn: Turn, peer: str, message: ToDominator) -> None:
        del peer
        self._arrive(turn, message.frame)
        self._climb(turn, message.frame, message.position, message.hops)

    def _across_dominators(self, turn: Turn, peer: str, message: AcrossDominators) -> None:
        del peer
        self._arrive(turn, message.frame)
        crossing = self._crossing(message.position, message.dimension)
        self._cross(turn, message.frame, crossing, message.hops)

    def _from_dominator(self, turn: Turn, peer: str, message: FromDominator) -> None:
        del peer
        self._arrive(turn, message.frame)
        self._send_down(turn, message.frame, message.position, message.hops)

    def _arrive(self, turn: Turn, frame: StreamFrame) -> None:
        if not self._recent.note(frame_key(frame), VISIT):
            arrived = self._around.arrived
            arrived(turn, frame)

    def _climb(self, turn: Turn, frame: StreamFrame, position: int, hops: int) -> None:
        view, me, epoch = self._view, self._around.me, self._around.epoch
        while not view.is_dominating(position):
            position = view.parents[position]
            host = view.hosts[position]
            if host != me:
                self._around.send(turn, host, ToDominator(epoch, frame, position, hops + 1))
                return
        self._cross(turn, frame, self._crossing(position, -1), hops)

    def _cross(self, turn: Turn, frame: StreamFrame, crossing: Crossing, hops: int) -> None:
        epoch, send = self._around.epoch, self._around.send
        for host, target, over in crossing.sent:
            send(turn, host, AcrossDominators(epoch, frame, target, over, hops + 1))
        for own in crossing.dominators:
            self._send_down(turn, frame, own, hops)

    def _send_down(self, turn: Turn, frame: StreamFrame, position: int, hops: int) -> None:
        epoch, send = self._around.epoch, self._around.send
        for host, child in self._fall(frame.publication.topic, position):
            send(turn, host, FromDominator(epoch, frame, child, hops + 1))

    def _crossing(self, dominator: int, dimension: int) -> Crossing:
        """Where a frame goes across from a dominating node, over other positions of this broker."""
        crossing = self._crossings.get((dominator, dimension))
        if crossing is None:
            sent, reached = [], [(dominator, dimension)]
            for here, came_over in reached:
                for target, over in self._view.across(here, came_over):
                    host = self._view.hosts[target]
                    if host == self._around.me:
                        reached.append((target, over))
                    else:
                        sent.append((host, target, over))
            crossing = Crossing(tuple(sent), tuple(own for own, _ in reached))
            self._crossings[dominator, dimension] = crossing
        return crossing

    def _fall(self, topic: str, position: int) -> tuple[Drop, ...]:
        """Where a frame goes down from a position, over other positions of this broker."""
        falls = self._falls.get(topic)
        if falls is None:
            if len(self._falls) >= ROUTES_MAX:
                self._falls.clear()
            falls = self._falls[topic] = {}
        fall = falls.get(position)
        if fall is None:
            sent, reached = [], [position]
            for here in reached:
                for child, host in self._below(topic, here):
                    if host == self._around.me:
                        reached.append(child)
                    else:
                        sent.append((host, child))
            fall = falls[position] = tuple(sent)
        return fall

    def _below(self, topic: str, position: int) -> list[tuple[int, str]]:
        if self._is_broadcast:
            if self._view.is_dominating(position) and not self._trees.is_wanted(topic, position):
                return []
            return [(child, self._view.hosts[child]) for child in self._view.children[position]]
        return [(int(child), host) for child, host in self._trees.children(topic, position)]

    def _parent(self, topic: str, place: Place) -> End:
        del topic
        parent = self._view.parents[int(place)]
        return End(parent, self._view.hosts[parent])

    def _tree_changed(self, topic: str) -> None:
        self._falls.pop(topic, None)
