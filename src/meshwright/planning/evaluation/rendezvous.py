"""Forwarding over a key geometry: publications go to the topic's root, then down its tree.

The tree is the union of the routes between the root and each member. The root is neither counted
as internal nor as external; deliveries are made by the tree alone, so a member whose broker
published, or lies on the way in, is served on the way down. [DYNATOPS, 1.1 and 1.2; SHG, 2.3]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.designs import design
from meshwright.model.interests import BoolArray, Int32Array, Int64Array, Interests
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_geometries import roots as topic_roots
from meshwright.planning.arrangement.seats import read_seats
from meshwright.planning.evaluation.forwarding import PublicationMessages, Totals
from meshwright.planning.evaluation.kernels.trees import ways_through
from meshwright.planning.evaluation.publishers import publisher_weights
from meshwright.planning.evaluation.routes import (
    greatest_by,
    greatest_others,
    hop_by_hop,
    members_below,
    sums_by,
)
from meshwright.planning.evaluation.topic_trees import TreeCarrier


@dataclass(frozen=True, slots=True, eq=False)
class Rendezvous:
    """Topic trees of one arrangement of brokers on a key geometry.

    positions: (broker,). roots: the position that owns each topic: (topic,).
    members: topics by brokers. below: members at or below a position in the topic's tree,
    (topic, position); 0 where the position is not in the tree, but for the root.
    """

    snapshot: Snapshot
    geometry: KeyGeometry
    positions: Int32Array
    roots: Int32Array
    members: Interests
    below: Int64Array

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication: the way in, then one message to each tree position but the root."""
        root = self.roots[topic]
        member_positions = self.positions[self.members.of(topic)]
        entry = int(self._entry_hops()[self.positions[publisher], root])
        internal = int(np.count_nonzero(member_positions != root))
        received = np.count_nonzero(self.below[topic]) - int(self.below[topic, root] > 0)
        return PublicationMessages(
            entry,
            internal,
            int(received) - internal,
            (entry + self.geometry.hops[root, member_positions]).astype(np.int32),
        )

    def subscription(self, topic: int, broker: int) -> int:
        """Bayeux style: to the root and back down. Scribe style: up to the tree of the others."""
        root = self.roots[topic]
        position = self.positions[broker]
        if self.geometry.tree_direction == "root_to_member":
            return int(self._entry_hops()[position, root] + self.geometry.hops[root, position])
        own = int(broker in self.members.of(topic))
        messages = 0
        while position != root and self.below[topic, position] == own:
            messages += 1
            position = self.geometry.parents[root, position]
        return messages

    def all_subscriptions(self) -> int:
        """Messages of all interests there are, subscribed one after another in any order."""
        if self.geometry.tree_direction == "root_to_member":
            return self.totals().management
        return int(np.count_nonzero(self._received()))

    def totals(self) -> Totals:
        """Tree by tree for the messages, member by member for the delays."""
        broker_count, topic_count = len(self.positions), len(self.roots)
        topics = self.members.row_of_pairs()
        roots, positions = self.roots[topics], self.positions[self.members.columns]
        received = self._received()
        internal = sums_by(topics, positions != roots, topic_count)
        ways_in = self._entry_hops()
        entry_hops, tree_hops = ways_in[positions, roots], self.geometry.hops[roots, positions]
        delay_tree_hops = broker_count * sums_by(topics, tree_hops, topic_count)
        carrier = TreeCarrier(
            self.snapshot, self.geometry, self.positions, self.roots, self.members
        )
        entry = carrier.entry_hops()
        delay_ms, delay_tree_ms = carrier.delays_ms()
        tree_loads = broker_count * self._tree_loads(received)
        return Totals(
            internal=broker_count * internal,
            external=broker_count * (np.count_nonzero(received, axis=1) - internal),
            entry=entry,
            delivered=broker_count * self.members.counts(),
            missed=np.zeros(topic_count, dtype=np.int64),
            delay_hops=entry * self.members.counts() + delay_tree_hops,
            delay_tree_hops=delay_tree_hops,
            delay_ms=delay_ms,
            delay_tree_ms=delay_tree_ms,
            diameters=self._diameters(topics, entry_hops, tree_hops),
            loads=(self._entry_loads() + tree_loads)[self.positions],
            management=self._management(received, int((entry_hops + tree_hops).sum())),
            k_held=1,
        )

    def _entry_hops(self) -> Int32Array:
        """Hops of every route: (source, target)."""
        grows_down = self.geometry.tree_direction == "root_to_member"
        return self.geometry.hops if grows_down else self.geometry.hops.T

    def _received(self) -> BoolArray:
        """Positions that receive a message of the topic's tree: (topic, position)."""
        received = self.below > 0
        received[np.arange(len(self.roots)), self.roots] = False
        return received

    def _diameters(
        self, topics: Int32Array, entry_hops: Int32Array, tree_hops: Int32Array
    ) -> Int64Array:
        """Per member as publisher, its way in and the deepest of the others: (topic,)."""
        deepest_others = greatest_others(self.members.offsets, tree_hops)
        hops = np.where(deepest_others < 0, 0, entry_hops + deepest_others)
        return greatest_by(topics, hops, len(self.roots))

    def _management(self, received: BoolArray, round_trips: int) -> int:
        """Where a member stops at the first forwarder, it pays for the part that is its alone."""
        if self.geometry.tree_direction == "root_to_member":
            return round_trips
        return int(np.count_nonzero(received & (self.below == 1)))

    def _entry_loads(self) -> Float64Array:
        """Messages of the ways in of one publication by each broker, at both ends: (position,)."""
        used_roots, trees = np.unique(self.roots, return_inverse=True)
        inwards = np.ascontiguousarray(self.geometry.next_hops.T[used_roots])
        weights = publisher_weights(self.snapshot)
        if weights is None:
            rates = np.bincount(trees, weights=self.snapshot.publications)
            sent = (rates[:, None] * ways_through(inwards)).astype(np.float64)
        else:
            sent = self._sent_inwards(inwards, used_roots, trees, weights)
        received = np.bincount(inwards.ravel(), weights=sent.ravel(), minlength=inwards.shape[1])
        loads: Float64Array = sent.sum(axis=0) + received
        return loads

    def _sent_inwards(
        self, inwards: Int32Array, used_roots: Int32Array, trees: Int64Array, weights: Float64Array
    ) -> Float64Array:
        """Publications that each position sends on towards each root: (root, position)."""
        flows = np.zeros((len(used_roots), len(self.positions)), dtype=np.float64)
        np.add.at(flows, trees, (weights * self.snapshot.publications).T)
        sent = np.zeros_like(flows)
        rows, brokers = (array.ravel() for array in np.indices(flows.shape))
        starts, ends = self.positions[brokers], used_roots[rows]
        for routes, here, _ in hop_by_hop(
            starts, ends, lambda routes, here: inwards[rows[routes], here]
        ):
            np.add.at(sent, (rows[routes], here), flows[rows[routes], brokers[routes]])
        return sent

    def _tree_loads(self, received: BoolArray) -> Float64Array:
        """Messages of one publication of each topic at both their ends: (position,)."""
        topics, positions = np.nonzero(received)
        parents = self.geometry.parents[self.roots[topics], positions]
        rates = self.snapshot.publications[topics]
        ends = np.concatenate((positions, parents))
        loads = np.bincount(ends, weights=np.tile(rates, 2), minlength=len(self.positions))
        return loads.astype(np.float64)


def rendezvous_of(overlay: Overlay, snapshot: Snapshot) -> Rendezvous:
    """The forwarding of an overlay that has positions on a key geometry."""
    geometry, positions = read_seats(overlay, snapshot, design(overlay.design).geometry)
    return rendezvous(geometry, positions, topic_roots(geometry, snapshot.topics), snapshot)


def rendezvous(
    geometry: KeyGeometry, positions: Int32Array, roots: Int32Array, snapshot: Snapshot
) -> Rendezvous:
    """The forwarding of brokers at given positions; roots: position of each topic, (topic,)."""
    members = snapshot.interests.transposed()
    starts, ends = positions[members.columns], roots[members.row_of_pairs()]
    below = members_below(
        members,
        starts,
        ends,
        lambda routes, here: geometry.parents[ends[routes], here],
        position_count=len(positions),
    )
    return Rendezvous(snapshot, geometry, positions, roots, members, below)
