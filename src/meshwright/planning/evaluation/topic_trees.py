"""The traffic of many topics over a key geometry: the same counts as Rendezvous, only faster.

Trees are walked topic by topic instead of being laid out as matrices of topics by positions, so
that a replay may ask for every topic in every slot. [DYNATOPS, 1.1 and 1.2]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.designs import design
from meshwright.model.interests import Int32Array, Int64Array, Interests
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_geometries import roots as topic_roots
from meshwright.planning.arrangement.seats import read_seats
from meshwright.planning.evaluation.forwarding import Sums, Traffic
from meshwright.planning.evaluation.kernels.trees import (
    TopicTrees,
    joining_messages,
    tree_sizes,
    way_delays,
)
from meshwright.planning.evaluation.publishers import over_publishers, publisher_weights
from meshwright.planning.evaluation.routes import sums_by


@dataclass(frozen=True, slots=True, eq=False)
class TreeCarrier:
    """Topic trees of one arrangement of brokers on a key geometry.

    positions: (broker,). roots: the position that owns each topic, (topic,). members: topics by
    brokers.
    """

    snapshot: Snapshot
    geometry: KeyGeometry
    positions: Int32Array
    roots: Int32Array
    members: Interests

    def traffic(self) -> Traffic:
        """Tree by tree for the messages, member by member for the delays."""
        broker_count, topic_count = len(self.positions), len(self.roots)
        topics, counts = self.members.row_of_pairs(), self.members.counts()
        roots, places = self.roots[topics], self.positions[self.members.columns]
        internal = sums_by(topics, places != roots, topic_count)
        entry = self.entry_hops()
        tree_hops = sums_by(topics, self.geometry.hops[roots, places], topic_count)
        delay_ms, delay_tree_ms = self.delays_ms()
        return Traffic(
            internal=broker_count * internal,
            external=broker_count * (tree_sizes(self._trees()) - internal),
            entry=entry,
            delivered=broker_count * counts,
            missed=np.zeros(topic_count, dtype=np.int64),
            delay_hops=entry * counts + broker_count * tree_hops,
            delay_tree_hops=broker_count * tree_hops,
            delay_ms=delay_ms,
            delay_tree_ms=delay_tree_ms,
        )

    def entry_hops(self) -> Sums:
        """Hops to the root over publishers: (topic,)."""
        ways = self._entry_hops()[self.positions]
        return over_publishers(ways, self.roots, publisher_weights(self.snapshot))

    def delays_ms(self) -> tuple[Float64Array, Float64Array] | tuple[None, None]:
        """Whole ways, and ways down, over publishers and members: (topic,) each."""
        delays_ms = self.snapshot.delays_ms
        if delays_ms is None:
            return None, None
        topics, places = self.members.row_of_pairs(), self.positions[self.members.columns]
        used_roots, trees = np.unique(self.roots, return_inverse=True)
        brokers = np.argsort(self.positions).astype(np.int32)
        inwards = np.ascontiguousarray(self.geometry.next_hops.T[used_roots])
        ways_ms = way_delays(inwards, brokers, delays_ms.copy())
        entry_ms = over_publishers(
            ways_ms.T[self.positions], trees, publisher_weights(self.snapshot)
        )
        # From the root down, the upper broker sends.
        outwards = self.geometry.parents[used_roots]
        tree_ms = way_delays(outwards, brokers, np.ascontiguousarray(delays_ms.T))
        down_ms = np.bincount(topics, weights=tree_ms[trees[topics], places], minlength=len(trees))
        delay_tree_ms = len(brokers) * down_ms.astype(np.float64)
        return entry_ms * self.members.counts() + delay_tree_ms, delay_tree_ms

    def subscriptions(self, topics: Int64Array, brokers: Int64Array) -> Int64Array:
        """To the root and back down, or up to the tree of the others: (pair,)."""
        places = self.positions[brokers]
        if self.geometry.tree_direction == "root_to_member":
            roots = self.roots[topics]
            round_trips = self._entry_hops()[places, roots] + self.geometry.hops[roots, places]
            return round_trips.astype(np.int64)
        messages: Int64Array = joining_messages(self._trees(), topics, places)
        return messages

    def _entry_hops(self) -> Int32Array:
        """Hops of every route: (source, target)."""
        grows_down = self.geometry.tree_direction == "root_to_member"
        return self.geometry.hops if grows_down else self.geometry.hops.T

    def _trees(self) -> TopicTrees:
        used_roots, trees = np.unique(self.roots, return_inverse=True)
        return TopicTrees(
            parents=self.geometry.parents[used_roots],
            trees=trees.astype(np.int64),
            offsets=self.members.offsets,
            positions=self.positions[self.members.columns],
        )


def tree_carrier_of(overlay: Overlay, snapshot: Snapshot) -> TreeCarrier:
    """The topic trees of an overlay that has positions on a key geometry."""
    geometry, positions = read_seats(overlay, snapshot, design(overlay.design).geometry)
    # Topics at several times are topics of one name.
    names = tuple(dict.fromkeys(snapshot.topics))
    found = dict(zip(names, topic_roots(geometry, names).tolist(), strict=True))
    roots = np.array([found[topic] for topic in snapshot.topics], dtype=np.int32)
    return tree_carrier(geometry, positions, roots, snapshot)


def tree_carrier(
    geometry: KeyGeometry, positions: Int32Array, roots: Int32Array, snapshot: Snapshot
) -> TreeCarrier:
    """The trees of brokers at given positions; roots: position of each topic, (topic,)."""
    return TreeCarrier(snapshot, geometry, positions, roots, snapshot.interests.transposed())
