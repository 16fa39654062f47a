"""Watches that the receivers of each topic stay joined by k ways [kTCO].

A broker knows who receives the topics that are published at it, which brokers live, and all links
of the overlay. With each heartbeat it looks at some of these topics. A topic whose living receivers
are joined among themselves by fewer than k disjoint ways is reported, and again when they are
joined by k. What is not published here any more is watched no more. Overlays of other designs
promise no k.
"""

from __future__ import annotations

from collections import deque

import msgspec

from meshwright.model.designs import design
from meshwright.model.overlay import Overlay
from meshwright.overlays.cohesion import cohesion
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.liveness import Liveness
from meshwright.protocol.reconfiguration.in_force import InForce
from meshwright.protocol.streams.outgoing import Outgoing

# With one heartbeat: topics that are looked at, and how much is computed for them at most.
TOPICS_MAX = 512
WAYS_MAX = 2_000


class TopicCohesion(msgspec.Struct, frozen=True, kw_only=True):
    """A topic's living receivers, and by how many of k ways they are joined among themselves."""

    topic: str
    held: int
    k: int
    receivers: int


class TopicWatch:
    """One broker's watch over the topics that are published at it; weak: those with less than k."""

    def __init__(self, outgoing: Outgoing, liveness: Liveness, in_force: InForce) -> None:
        self._outgoing = outgoing
        self._liveness = liveness
        self._in_force = in_force
        self.weak: dict[str, TopicCohesion] = {}
        self._overlay: Overlay | None = None
        self._k = 0
        self._neighbours: dict[str, set[str]] = {}
        # By receivers: how well they are joined; of the overlay and the brokers alive as they are.
        self._known: dict[frozenset[str], int] = {}
        self._alive: tuple[str, ...] = ()
        self._pending: deque[str] = deque()

    def tick(self, turn: Turn) -> None:
        """Look at the next topics, with as much work as a heartbeat allows."""
        self._notice_changes()
        if not self._k:
            self.weak.clear()
            return
        if not self._pending:
            self._pending.extend(self._outgoing.topics())
            watched = set(self._pending)
            self.weak = {topic: one for topic, one in self.weak.items() if topic in watched}
        cost = 0
        for _ in range(min(TOPICS_MAX, len(self._pending))):
            cost += self._look(turn, self._pending.popleft())
            if cost > WAYS_MAX:
                break

    def _notice_changes(self) -> None:
        overlay, alive = self._in_force.overlay, self._liveness.alive()
        if overlay is self._overlay and alive == self._alive:
            return
        self._overlay, self._alive = overlay, alive
        self._known.clear()
        # What is weak may be so no more; all others follow.
        self._pending = deque(self.weak)
        k = overlay.params.get("k", 1)
        is_graph = design(overlay.design).geometry == "graph"
        self._k = k if is_graph and isinstance(k, int) else 0
        self._neighbours = {name: set() for name in overlay.brokers}
        for one, other in overlay.links:
            self._neighbours[one].add(other)
            self._neighbours[other].add(one)

    def _look(self, turn: Turn, topic: str) -> int:
        """Judge one topic; returns how much that cost."""
        receivers = frozenset(self._outgoing.receivers_of(topic)).intersection(
            self._alive, self._neighbours
        )
        cost = 0
        held = self._known.get(receivers)
        if held is None:
            cost = len(receivers) ** max(self._k - 1, 1)
            held = self._known[receivers] = cohesion(self._neighbours, receivers, self._k)
        found = TopicCohesion(topic=topic, held=held, k=self._k, receivers=len(receivers))
        former = self.weak.pop(topic, None)
        if held < self._k:
            self.weak[topic] = found
        if (held < self._k or former is not None) and found != former:
            turn.report(found)
        return cost
