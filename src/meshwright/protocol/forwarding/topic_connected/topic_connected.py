"""Forwarding inside the graph of a topic's receivers: no broker relays what it does not want.

The origin names the receivers that it knows (the crowd), one bit for each broker, and hands the
frame to the nearest. From there it is pushed along the breadth-first tree of the crowd, which all
compute alike, so every receiver gets it once. A broker that sees a child dead serves the child's
children. A frame that is lost with a broker, before others see it dead, is offered a moment later
by neighbours off the tree; a receiver that lacked it is grafted, and pruned again once it gets
frames twice. dissemination = "flood" sends to all neighbours that want the topic. [DYNATOPS, 1.7]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from meshwright.filters.filter import Filter
from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings, drop_circling
from meshwright.protocol.forwarding.recent_frames import FrameKey, RecentFrames, frame_key
from meshwright.protocol.forwarding.topic_connected.neighbour_interest import (
    InterestChange,
    NeighbourInterest,
    NeighbourKnowledge,
)
from meshwright.protocol.forwarding.topic_connected.offers import Graft, Offer, Offers, Push
from meshwright.protocol.forwarding.topic_connected.push_trees import (
    Crowd,
    joined_brokers,
    push_tree,
    ways_in,
)
from meshwright.protocol.foundation.dispatch import on, table_of
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn

ROUTES_MAX = 65_536

# The purposes for which a frame was here.
HANDED_IN, PUSHED = 1, 2


class HandIn(ForwardingMessage, frozen=True, gc=False, tag=71):
    """A frame on its way from its origin to the nearest receiver of its crowd."""

    counts_as = "publication"
    is_entering = True

    frame: StreamFrame
    crowd: Crowd
    hops: int


class Prune(ForwardingMessage, frozen=True, gc=False, tag=72):
    """The sender gets the frames of this tree from elsewhere, too: end its graft."""

    counts_as = "offer"

    entry: str
    crowd: Crowd


class TopicConnected:
    """One broker's part in forwarding on an overlay with any links."""

    accepts: Literal["topic", "filter"] = "topic"

    def __init__(self, around: Surroundings) -> None:
        overlay, me = around.overlay, around.me
        self._around = around
        self._joined = joined = joined_brokers(overlay)
        near = (joined.names[index] for index in joined.neighbours[joined.indexes[me]])
        self._neighbours = tuple(sorted(near))
        # A frame may pass a broker on its way in, and once more as it is pushed.
        self._hops_max = 2 * len(overlay.brokers)
        self._is_flooding = overlay.params.get("dissemination") == "flood"
        self._seen = frozenset(overlay.brokers)
        self._crowds: dict[str, tuple[tuple[str, ...], Crowd]] = {}
        self._routes: dict[tuple[str, Crowd], tuple[str, ...]] = {}
        self._recent = RecentFrames()
        self._interest = NeighbourInterest(around, self._neighbours)
        self._offers = Offers(
            around, self._recent, lazy=self._lazy, is_seen=lambda peer: peer in self._seen
        )
        self._handlers = table_of(
            on(InterestChange, self._interest.changed),
            on(HandIn, self._handed_in),
            on(Push, self._pushed),
            on(Offer, self._offers.offered),
            on(Graft, self._grafted),
            on(Prune, self._pruned),
        )

    def neighbours(self) -> tuple[str, ...]:
        return self._neighbours

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        self._interest.add_interest(turn, wanted, done)
        self._crowds.pop(wanted.topic_filter, None)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        self._interest.remove_interest(turn, wanted)
        self._crowds.pop(wanted.topic_filter, None)

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        self._hand_in(turn, frame, self._crowd(frame.publication.topic), 0)

    def handle(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        self._handlers[type(message)](turn, peer, message)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        self._offers.timer_fired(turn, key)

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        del turn
        seen = frozenset(alive).intersection(self._around.overlay.brokers) | {self._around.me}
        if seen != self._seen:
            self._seen = seen
            self._crowds.clear()
            self._routes.clear()

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        self._interest.renew(turn, peer)

    def knowledge(self) -> NeighbourKnowledge:
        return self._interest.knowledge()

    def inherit(self, knowledge: Any, heirs: Mapping[str, str]) -> tuple[Filter, ...]:
        """This broker's own interest is added anew; neighbours that know it are not told again."""
        del heirs
        self._interest.take_over(knowledge)
        return ()

    def settle(self, turn: Turn, done: Action) -> None:
        self._interest.settle(turn)
        done(turn)

    def path(self, topic: str, source: str) -> tuple[tuple[str, str], ...]:
        """The hop on the way in, or the next hops to receivers, as this broker knows them."""
        me, crowd = self._around.me, self._crowd(topic)
        ways = ways_in(self._joined, self._seen, crowd)
        if source not in ways:
            return ()
        if me in self._joined.named(crowd):
            entry = ways[source].entry
            parent = push_tree(self._joined, entry, crowd).parents[me]
            targets = self._targets(topic, entry, crowd)
            return tuple((me, target) for target in targets if target != parent)
        here = source
        while here != me and here != ways[here].entry:
            here = ways[here].next_hop
        return ((me, ways[me].next_hop),) if here == me else ()

    def _handed_in(self, turn: Turn, peer: str, message: HandIn) -> None:
        del peer
        self._hand_in(turn, message.frame, message.crowd, message.hops)

    def _hand_in(self, turn: Turn, frame: StreamFrame, crowd: Crowd, hops: int) -> None:
        me, epoch = self._around.me, self._around.epoch
        key = frame_key(frame)
        before = self._recent.note(key, HANDED_IN)
        if before & HANDED_IN:
            return
        if not before and hops:
            self._around.arrived(turn, frame)
        if me in self._joined.named(crowd):
            if not self._recent.note(key, PUSHED) & PUSHED:
                self._push(turn, Push(epoch, frame, me, crowd, hops), me, key)
        elif hops >= self._hops_max:
            drop_circling(turn, frame)
        else:
            way = ways_in(self._joined, self._seen, crowd).get(me)
            if way is not None:
                self._around.send(turn, way.next_hop, HandIn(epoch, frame, crowd, hops + 1))

    def _pushed(self, turn: Turn, peer: str, message: Push) -> None:
        key = frame_key(message.frame)
        before = self._recent.note(key, PUSHED)
        if before & PUSHED:
            self._came_twice(turn, peer, message)
            return
        if not before:
            arrived = self._around.arrived
            arrived(turn, message.frame)
        self._push(turn, message, peer, key)

    def _push(self, turn: Turn, push: Push, source: str, key: FrameKey) -> None:
        if push.hops >= self._hops_max:
            drop_circling(turn, push.frame)
            return
        frame, entry, crowd = push.frame, push.entry, push.crowd
        onward = Push(push.epoch, frame, entry, crowd, push.hops + 1)
        send = self._around.send
        for target in self._targets(frame.publication.topic, entry, crowd):
            if target != source:
                send(turn, target, onward)
        if not self._is_flooding:
            self._offers.keep(turn, key, onward, source)

    def _came_twice(self, turn: Turn, peer: str, push: Push) -> None:
        """A frame came twice: end a graft that is not needed; the tree's own links stay."""
        if self._is_flooding:
            return
        parent = push_tree(self._joined, push.entry, push.crowd).parents.get(self._around.me)
        if peer != parent:
            self._around.send(turn, peer, Prune(self._around.epoch, push.entry, push.crowd))

    def _grafted(self, turn: Turn, peer: str, message: Graft) -> None:
        """Send a peer the frames it asked for; graft it onto trees that failed to reach it."""
        for push in self._offers.kept(message):
            children = self._children(push.entry, push.crowd)
            if peer not in children and peer in self._joined.named(push.crowd):
                self._routes[push.entry, push.crowd] = (*children, peer)
            self._around.send(turn, peer, push)

    def _pruned(self, turn: Turn, peer: str, message: Prune) -> None:
        del turn
        children = self._children(message.entry, message.crowd)
        if peer in children:
            rest = tuple(child for child in children if child != peer)
            self._routes[message.entry, message.crowd] = rest

    def _targets(self, topic: str, entry: str, crowd: Crowd) -> Iterable[str]:
        """The brokers to which this one sends a frame that it got as a receiver."""
        children = self._children(entry, crowd)
        if not self._is_flooding:
            return children
        near = [peer for peer in self._interest.near(topic) if peer in self._seen]
        return (*near, *(child for child in children if child not in self._neighbours))

    def _children(self, entry: str, crowd: Crowd) -> tuple[str, ...]:
        """The living brokers below this one in a tree, and those grafted to it."""
        children = self._routes.get((entry, crowd))
        if children is None:
            if len(self._routes) >= ROUTES_MAX:
                self._routes.clear()
            below = push_tree(self._joined, entry, crowd).children
            pending = list(below.get(self._around.me, ()))
            for child in pending:
                if child not in self._seen:
                    pending.extend(below.get(child, ()))
            children = tuple(child for child in pending if child in self._seen)
            self._routes[entry, crowd] = children
        return children

    def _lazy(self, push: Push, source: str) -> list[str]:
        """The neighbours in a frame's crowd that neither sent it here nor were sent it.

        A neighbour that is not in the crowd joined later, and may have newer frames already.
        """
        near = self._interest.near(push.frame.publication.topic)
        children, seen = self._children(push.entry, push.crowd), self._seen
        crowd = self._joined.named(push.crowd)
        return [
            peer
            for peer in near
            if peer != source and peer in crowd and peer not in children and peer in seen
        ]

    def _crowd(self, topic: str) -> Crowd:
        """The living receivers of a topic that this broker knows, itself among them."""
        receivers = self._around.receivers_of(topic)
        known = self._crowds.get(topic)
        if known is not None and known[0] == receivers:
            return known[1]
        if len(self._crowds) >= ROUTES_MAX:
            self._crowds.clear()
        own = (self._around.me,) if self._interest.wants(topic) else ()
        crowd = self._joined.crowd((*own, *(name for name in receivers if name in self._seen)))
        self._crowds[topic] = (receivers, crowd)
        return crowd
