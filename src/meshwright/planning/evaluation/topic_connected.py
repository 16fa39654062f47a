"""Forwarding inside the graph of a topic's members: nobody relays what it does not want.

A publisher whose broker is not interested hands in at the nearest member; from there the
publication is pushed along the breadth-first tree of the topic's graph, so every other member
receives it once. Members that the graph does not reach are counted as missed.
[DYNATOPS, 1.7; kTCO, 3.1]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.interests import Int32Array, Int64Array, Interests
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.overlays.graph import Graph, graph
from meshwright.overlays.graph import links as graph_links
from meshwright.planning.evaluation.forwarding import (
    PublicationMessages,
    Totals,
    Traffic,
    parts_of,
)
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.evaluation.kernels.pushes import (
    Pushes,
    Rows,
    push,
    push_from_all,
    topic_graph,
)
from meshwright.planning.evaluation.kernels.ways import (
    Entering,
    Ways,
    entering_at_members,
    nearest,
    ways_between,
)
from meshwright.planning.evaluation.publishers import publisher_weights
from meshwright.planning.evaluation.routes import greatest_by, sums_by
from meshwright.planning.topic_connected.validation import k_held


@dataclass(frozen=True, slots=True, eq=False)
class TopicConnected:
    """An explicit graph of brokers, its topics' members, and the ways between brokers."""

    snapshot: Snapshot
    joined: Graph
    members: Interests
    ways: Ways

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication by eager push: a message to each member but the first."""
        entry, _, reached, delays = self._push(topic, publisher)
        return PublicationMessages(entry, max(len(reached) - 1, 0), 0, delays)

    def flooding(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication by plain flooding: every member sends to all but where it got it from.

        That is 2 * links - (members - 1) messages; duplicates are internal too.
        """
        entry, inner, reached, delays = self._push(topic, publisher)
        sent = int(np.diff(inner.offsets)[reached].sum())
        return PublicationMessages(entry, sent - max(len(reached) - 1, 0), 0, delays)

    def subscription(self, topic: int, broker: int) -> int:
        """One message to each neighbour, whatever the topic."""
        del topic
        return int(self.joined.degrees()[broker])

    def subscriptions(self, topics: Int64Array, brokers: Int64Array) -> Int64Array:
        """The same for many pairs of topic and broker: (pair,)."""
        del topics
        messages: Int64Array = self.joined.degrees()[brokers].astype(np.int64)
        return messages

    def traffic(self) -> Traffic:
        """A push from each member, times the publishers that hand in there."""
        return self._spread()[0]

    def totals(self) -> Totals:
        """The same, and the rest."""
        traffic, pushes, loads = self._spread()
        topics = self.members.row_of_pairs()
        return Totals(
            **parts_of(traffic),
            diameters=greatest_by(topics, pushes.hops_max, self.members.row_count),
            loads=loads + pushes.loads,
            management=int(self.joined.degrees()[self.members.columns].sum()),
            k_held=self._k_held(pushes.degrees),
        )

    def _spread(self) -> tuple[Traffic, Pushes, Float64Array]:
        """The traffic, the pushes behind it, and the loads of the ways in: (broker,)."""
        topic_count = self.members.row_count
        topics = self.members.row_of_pairs()
        found = self._entering()
        # Whole where every publisher counts once, and told as such.
        kind = np.int64 if self.snapshot.publishers is None else np.float64
        entering, entering_hops = found.amounts.astype(kind), found.hops.astype(kind)
        pushes = self._pushes(found.amounts * self.snapshot.publications[topics])
        delivered = sums_by(topics, entering * pushes.reached, topic_count)
        unreached = self.members.counts()[topics] - pushes.reached
        tree_hops = sums_by(topics, entering * pushes.hop_sums, topic_count)
        entry_hops = sums_by(topics, entering_hops * pushes.reached, topic_count)
        tree_ms, entry_ms = np.zeros((2, topic_count), dtype=np.float64)
        np.add.at(tree_ms, topics, entering * pushes.ms_sums)
        np.add.at(entry_ms, topics, found.ms * pushes.reached)
        traffic = Traffic(
            internal=sums_by(topics, entering * (pushes.reached - 1), topic_count),
            external=np.zeros(topic_count, dtype=np.int64),
            entry=found.entry_hops.astype(kind),
            delivered=delivered,
            # Not the difference to all deliveries: shares of publishers do not add up exactly.
            missed=sums_by(topics, entering * unreached, topic_count),
            delay_hops=entry_hops + tree_hops,
            delay_tree_hops=tree_hops,
            delay_ms=None if self.snapshot.delays_ms is None else entry_ms + tree_ms,
            delay_tree_ms=None if self.snapshot.delays_ms is None else tree_ms,
        )
        return traffic, pushes, found.loads

    def _push(self, topic: int, publisher: int) -> tuple[int, Rows, Int32Array, Int32Array]:
        """Hops to the topic, its graph, who in it is reached, and delays in hops of all: (member,).

        Nobody's topic is nowhere: no hops.
        """
        members = self.members.of(topic)
        ranks, hops_in = np.full((2, len(self.snapshot.brokers)), -1, dtype=np.int32)
        inner = topic_graph(_rows(self.joined), members, ranks)
        if not len(members):
            return 0, inner, members, members
        nearest(self.ways, members, ranks, hops_in)
        entry = int(hops_in[publisher])
        reached, _, hops = push(inner, int(ranks[publisher]))
        delays = np.where(hops < 0, -1, hops + entry)
        return entry, inner, reached, delays.astype(np.int32)

    def _pushes(self, weights: Float64Array) -> Pushes:
        # One kind of array for every caller, or the kernel would be compiled once more.
        weights.setflags(write=False)
        rows = Rows(self.members.offsets, self.members.columns)
        return push_from_all(
            _rows(self.joined), rows, weights, _or_unknown(self.snapshot.delays_ms)
        )

    def _entering(self) -> Entering:
        """Where all publications enter; every member hands in at itself."""
        return entering_at_members(
            self.ways,
            Rows(self.members.offsets, self.members.columns),
            self.snapshot.publications,
            _or_unknown(publisher_weights(self.snapshot)),
        )

    def _k_held(self, degrees: Int64Array) -> int:
        """The least connectivity of a topic that can be parted at all; degrees: (pair,).

        Members that are all joined to each other cannot be parted. Where no topic can be, every
        broker but one may die.
        """
        counts = self.members.counts()
        lowest = counts.copy()
        np.minimum.at(lowest, self.members.row_of_pairs(), degrees)
        is_partable = lowest < counts - 1
        if not bool(is_partable.any()):
            return max(self.joined.broker_count - 1, 1)
        # No topic is better connected than its member of fewest links: so far need be looked.
        limit = int(lowest[is_partable].min())
        if limit == 0:
            return 0
        held = k_held(graph_links(self.joined), self.snapshot.interests, limit)
        return int(held[is_partable].min())


def topic_connected_of(overlay: Overlay, snapshot: Snapshot) -> TopicConnected:
    """The forwarding of an overlay with any links."""
    links = link_indexes(overlay, snapshot)
    return topic_connected(graph(len(snapshot.brokers), links), snapshot)


def topic_connected(joined: Graph, snapshot: Snapshot) -> TopicConnected:
    """The forwarding of a graph of the snapshot's brokers."""
    members = snapshot.interests.transposed()
    ways = ways_between(_rows(joined), _or_unknown(snapshot.delays_ms))
    return TopicConnected(snapshot, joined, members, ways)


def _or_unknown(values: Float64Array | None) -> Float64Array:
    """An array for kernels, empty in place of none; of one kind, so that they are compiled once."""
    known = np.zeros((0, 0), dtype=np.float64) if values is None else values.view()
    known.setflags(write=False)
    return known


def _rows(joined: Graph) -> Rows:
    return Rows(joined.offsets, joined.neighbours)
