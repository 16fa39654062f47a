"""Forwarding by rendezvous: a frame goes to the root of its topic, then down the topic's tree.

The root is the broker that owns the topic's key. On chord and tapestry the tree consists of the
routes from the root to the receivers, on pastry and the quadtree of those from the receivers to it.
Ways and trees follow the brokers that are seen alive. Views may differ for a while, so a frame that
comes to a broker twice on its way up, or twice on its way down, ends there. [DYNATOPS, 1.1]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from meshwright.filters.filter import Filter
from meshwright.protocol.forwarding.forwarding import (
    ForwardingMessage,
    Surroundings,
    drop_circling,
    linked_with,
)
from meshwright.protocol.forwarding.recent_frames import RecentFrames, frame_key
from meshwright.protocol.forwarding.rendezvous.key_routes import key_routes
from meshwright.protocol.forwarding.rendezvous.rooted_trees import RootedTrees, TreeTable
from meshwright.protocol.forwarding.topic_trees.climbing_trees import BranchTable, ClimbingTrees
from meshwright.protocol.forwarding.topic_trees.demands import HOPS_MAX, End, Place
from meshwright.protocol.foundation.dispatch import on, table_of
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn

ROUTES_MAX = 65_536

# What a frame was here for.
UP, DOWN = 1, 2


class ToRoot(ForwardingMessage, frozen=True, gc=False, tag=66):
    """A frame on its way to the root of its topic."""

    counts_as = "publication"
    is_entering = True

    frame: StreamFrame
    hops: int


class FromRoot(ForwardingMessage, frozen=True, gc=False, tag=67):
    """A frame on its way down the tree of its topic."""

    counts_as = "publication"

    frame: StreamFrame
    hops: int


class Route(NamedTuple):
    """Where frames on a topic go from here: up, unless this is the root, and down."""

    above: str | None
    below: tuple[str, ...]


class Rendezvous:
    """One broker's part in the forwarding of one overlay over a key geometry."""

    accepts: Literal["topic", "filter"] = "topic"

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._seen = frozenset(around.overlay.brokers)
        self._ways = key_routes(around.overlay, self._seen)
        self._routes: dict[str, Route] = {}
        # Those joined with this broker, once somebody asks.
        self._neighbours: tuple[str, ...] = ()
        self._recent = RecentFrames()
        self._trees: RootedTrees | ClimbingTrees = (
            self._rooted_trees()
            if self._ways.tree_direction == "root_to_member"
            else self._climbing_trees()
        )
        self._handlers = table_of(
            *self._trees.handlers(),
            on(ToRoot, self._to_root),
            on(FromRoot, self._from_root),
        )

    def neighbours(self) -> tuple[str, ...]:
        """The overlay's own, to see them return, and those that stand in for the dead."""
        if not self._neighbours:
            me = self._around.me
            self._neighbours = linked_with(self._around.overlay, me, self._ways.neighbours(me))
        return self._neighbours

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        self._trees.add_interest(turn, wanted, done)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        self._trees.remove_interest(turn, wanted)

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        self._rise(turn, frame, 0)

    def handle(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        self._handlers[type(message)](turn, peer, message)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """Nothing here waits for a time."""

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        seen = frozenset(alive).intersection(self._around.overlay.brokers) | {self._around.me}
        if seen != self._seen:
            self._seen = seen
            self._neighbours = ()
            self._ways = key_routes(self._around.overlay, seen)
            self._routes.clear()
            self._trees.see(turn, seen)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        self._trees.renew(turn, peer)

    def knowledge(self) -> TreeTable | BranchTable:
        return self._trees.table()

    def inherit(self, knowledge: Any, heirs: Mapping[str, str]) -> tuple[Filter, ...]:
        return self._trees.take_over(knowledge, heirs)

    def settle(self, turn: Turn, done: Action) -> None:
        self._trees.settle(turn)
        done(turn)

    def path(self, topic: str, source: str) -> tuple[tuple[str, str], ...]:
        """Up if this broker is on the way from the source to the root, and down the tree."""
        me, route = self._around.me, self._route(topic)
        here: str | None = source
        while here is not None and here != me and here != self._ways.root(topic):
            here = self._ways.next_hop(here, self._ways.root(topic))
        above = (route.above,) if route.above is not None and here == me else ()
        return tuple((me, target) for target in (*above, *route.below))

    @property
    def rooted_trees(self) -> RootedTrees | None:
        """The trees, where they grow from the root down, so that a place can be taken over."""
        return self._trees if isinstance(self._trees, RootedTrees) else None

    def _to_root(self, turn: Turn, peer: str, message: ToRoot) -> None:
        del peer
        self._rise(turn, message.frame, message.hops)

    def _rise(self, turn: Turn, frame: StreamFrame, hops: int) -> None:
        key = frame_key(frame)
        before = self._recent.note(key, UP)
        if before & UP:
            return
        if not before and hops:
            arrived = self._around.arrived
            arrived(turn, frame)
        topic = frame.publication.topic
        above = (self._routes.get(topic) or self._route(topic)).above
        if above is None:
            if not self._recent.note(key, DOWN) & DOWN:
                self._fall(turn, frame, hops)
        elif hops >= HOPS_MAX:
            drop_circling(turn, frame)
        else:
            self._around.send(turn, above, ToRoot(self._around.epoch, frame, hops + 1))

    def _from_root(self, turn: Turn, peer: str, message: FromRoot) -> None:
        del peer
        frame = message.frame
        before = self._recent.note(frame_key(frame), DOWN)
        if before & DOWN:
            return
        if not before:
            arrived = self._around.arrived
            arrived(turn, frame)
        self._fall(turn, frame, message.hops)

    def _fall(self, turn: Turn, frame: StreamFrame, hops: int) -> None:
        topic = frame.publication.topic
        below = (self._routes.get(topic) or self._route(topic)).below
        if below and hops >= HOPS_MAX:
            drop_circling(turn, frame)
        elif below:
            message = FromRoot(self._around.epoch, frame, hops + 1)
            send = self._around.send
            for child in below:
                send(turn, child, message)

    def _route(self, topic: str) -> Route:
        """Where frames go that were not asked for before."""
        if len(self._routes) >= ROUTES_MAX:
            self._routes.clear()
        above = self._ways.root_hop(self._around.me, topic)
        below = self._below(topic)
        route = self._routes[topic] = Route(above if above != self._around.me else None, below)
        return route

    def _below(self, topic: str) -> tuple[str, ...]:
        if isinstance(self._trees, RootedTrees):
            return self._trees.children(topic)
        return tuple(child.host for child in self._trees.children(topic, self._around.me))

    def _rooted_trees(self) -> RootedTrees:
        me = self._around.me
        return RootedTrees(
            self._around,
            root_hop=lambda topic: self._ways.root_hop(me, topic),
            receiver_hop=lambda receiver: self._ways.next_hop(me, receiver),
            changed=self._tree_changed,
        )

    def _climbing_trees(self) -> ClimbingTrees:
        def parent(topic: str, _: Place) -> End:
            hop = self._ways.root_hop(self._around.me, topic)
            return End(hop, hop)

        return ClimbingTrees(
            self._around, self._around.me, parent=parent, changed=self._tree_changed
        )

    def _tree_changed(self, topic: str) -> None:
        self._routes.pop(topic, None)
