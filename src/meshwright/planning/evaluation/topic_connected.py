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
    Sums,
    Totals,
    Traffic,
    parts_of,
)
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.evaluation.kernels.pushes import (
    Pushes,
    Rows,
    Ways,
    nearest_members,
    push,
    push_from_all,
    topic_graph,
)
from meshwright.planning.evaluation.publishers import over_publishers, publisher_weights
from meshwright.planning.evaluation.routes import greatest_by, hop_by_hop, sums_by
from meshwright.planning.topic_connected.validation import k_held


@dataclass(frozen=True, slots=True, eq=False)
class TopicConnected:
    """An explicit graph of brokers, its topics' members, and everybody's way to them."""

    snapshot: Snapshot
    joined: Graph
    members: Interests
    ways: Ways

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication by eager push: a message to each member but the first."""
        _, reached, delays = self._push(topic, publisher)
        entry = int(self.ways.hops[topic, publisher])
        return PublicationMessages(entry, max(len(reached) - 1, 0), 0, delays)

    def flooding(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication by plain flooding: every member sends to all but where it got it from.

        That is 2 * links - (members - 1) messages; duplicates are internal too.
        """
        inner, reached, delays = self._push(topic, publisher)
        entry = int(self.ways.hops[topic, publisher])
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
        entering, entering_hops, entering_ms, loads = self._ways_in()
        pushes = self._pushes(entering * self.snapshot.publications[topics])
        delivered = sums_by(topics, entering * pushes.reached, topic_count)
        unreached = self.members.counts()[topics] - pushes.reached
        tree_hops = sums_by(topics, entering * pushes.hop_sums, topic_count)
        entry_hops = sums_by(topics, entering_hops * pushes.reached, topic_count)
        tree_ms, entry_ms = np.zeros((2, topic_count), dtype=np.float64)
        np.add.at(tree_ms, topics, entering * pushes.ms_sums)
        np.add.at(entry_ms, topics, entering_ms * pushes.reached)
        traffic = Traffic(
            internal=sums_by(topics, entering * (pushes.reached - 1), topic_count),
            external=np.zeros(topic_count, dtype=np.int64),
            entry=over_publishers(
                self.ways.hops.T, np.arange(topic_count), publisher_weights(self.snapshot)
            ),
            delivered=delivered,
            # Not the difference to all deliveries: shares of publishers do not add up exactly.
            missed=sums_by(topics, entering * unreached, topic_count),
            delay_hops=entry_hops + tree_hops,
            delay_tree_hops=tree_hops,
            delay_ms=None if self.snapshot.delays_ms is None else entry_ms + tree_ms,
            delay_tree_ms=None if self.snapshot.delays_ms is None else tree_ms,
        )
        return traffic, pushes, loads

    def _push(self, topic: int, publisher: int) -> tuple[Rows, Int32Array, Int32Array]:
        """The topic's graph, who in it is reached, and the delays in hops of all: (member,)."""
        members = self.members.of(topic)
        ranks = np.full(len(self.snapshot.brokers), -1, dtype=np.int32)
        inner = topic_graph(_rows(self.joined), members, ranks)
        if not len(members):
            return inner, members, members
        source = int(np.searchsorted(members, self.ways.entries[topic, publisher]))
        reached, _, hops = push(inner, source)
        delays = np.where(hops < 0, -1, hops + self.ways.hops[topic, publisher])
        return inner, reached, delays.astype(np.int32)

    def _pushes(self, weights: Float64Array) -> Pushes:
        delays_ms = self.snapshot.delays_ms
        unknown = np.zeros((0, 0), dtype=np.float64)
        # One kind of array for every caller, or the kernel would be compiled once more.
        unknown.setflags(write=False)
        weights.setflags(write=False)
        rows = Rows(self.members.offsets, self.members.columns)
        return push_from_all(
            _rows(self.joined), rows, weights, unknown if delays_ms is None else delays_ms
        )

    def _ways_in(self) -> tuple[Sums, Sums, Float64Array, Float64Array]:
        """Publishers that hand in at each member, their hops and delays, (pair,); (broker,) loads.

        Every member hands in at itself.
        """
        topics, starts = np.nonzero(self.ways.hops > 0)
        ends = self.ways.entries[topics, starts]
        shape = self.ways.hops.shape
        weights = publisher_weights(self.snapshot)
        amounts = np.ones(len(topics), np.int64) if weights is None else weights[starts, topics]
        rates = self.snapshot.publications[topics] * amounts
        loads = np.zeros(shape[1], dtype=np.float64)
        delays = np.zeros(shape, dtype=np.float64)
        for routes, here, following in hop_by_hop(
            starts.astype(np.int32),
            ends,
            lambda routes, here: self.ways.next_hops[topics[routes], here],
        ):
            np.add.at(loads, here, rates[routes])
            np.add.at(loads, following, rates[routes])
            if self.snapshot.delays_ms is not None:
                hop_ms = self.snapshot.delays_ms[here, following]
                np.add.at(delays, (topics[routes], ends[routes]), hop_ms * amounts[routes])
        entering, hops = np.zeros((2, *shape), dtype=amounts.dtype)
        np.add.at(entering, (topics, ends), amounts)
        np.add.at(hops, (topics, ends), self.ways.hops[topics, starts] * amounts)
        pairs = (self.members.row_of_pairs(), self.members.columns)
        own = 1 if weights is None else weights.T[pairs]
        return entering[pairs] + own, hops[pairs], delays[pairs], loads

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
    ways = nearest_members(_rows(joined), Rows(members.offsets, members.columns))
    return TopicConnected(snapshot, joined, members, ways)


def _rows(joined: Graph) -> Rows:
    return Rows(joined.offsets, joined.neighbours)
