"""Forwarding on a tree: subscriptions spread over it, publications follow them.

A publication crosses an edge once if someone behind it is interested; so the brokers it visits are
the smallest subtree of the publisher and the members. A subscription crosses an edge if nobody
else on the near side has sent one before. Each edge parts the brokers in two, and counting the
publishers and members on either side counts everything. Where everything climbs to a root, an edge
is crossed upward whoever is interested. [OCBR, 5.1; mobility, 4.1]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import BoolArray, Int64Array
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.overlays.tree import Tree, subtree_sums, tree
from meshwright.planning.evaluation.forwarding import (
    PublicationMessages,
    Sums,
    Totals,
    Traffic,
    parts_of,
)
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.evaluation.kernels.pushes import Rows
from meshwright.planning.evaluation.kernels.subscribing import (
    Subscribing,
    climbing_messages,
    outward_messages,
)
from meshwright.planning.evaluation.publishers import publisher_weights


@dataclass(frozen=True, slots=True, eq=False)
class Acyclic:
    """A tree of brokers, and who is interested below each edge.

    sizes: publishers in the subtree of each, (broker, topic) or (broker, 1). members: (broker,
    topic).
    below: members in the subtree of each broker: (broker, topic).
    climbs: every publication goes up to the root, and subscriptions go nowhere else.
    """

    snapshot: Snapshot
    hung: Tree
    sizes: Sums
    members: BoolArray
    below: Int64Array
    climbs: bool = False

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication: every message received by a member is internal, by a relay external."""
        delays = np.full(self.hung.broker_count, -1, dtype=np.int32)
        delays[publisher] = 0
        internal = external = 0
        pending = [(publisher, publisher)]
        while pending:
            here, source = pending.pop()
            for target in self.hung.joined.of(here).tolist():
                is_up = self.climbs and self.hung.parents[here] == target
                if target != source and (is_up or self._members_behind(here, target, topic)):
                    delays[target] = delays[here] + 1
                    internal += int(self.members[target, topic])
                    external += int(not self.members[target, topic])
                    pending.append((target, here))
        return PublicationMessages(0, internal, external, delays[self.members[:, topic]])

    def subscription(self, topic: int, broker: int) -> int:
        """Edges, outward from the broker, that have no other member on their near side.

        If all climbs, only those on the way to the root.
        """
        others = int(self.below[self.hung.root, topic]) - int(self.members[broker, topic])
        messages = 0
        pending = [(broker, broker)]
        while pending:
            here, source = pending.pop()
            for target in self.hung.joined.of(here).tolist():
                is_way = not self.climbs or self.hung.parents[here] == target
                is_first = self._members_behind(here, target, topic) == others
                if target != source and is_way and is_first:
                    messages += 1
                    pending.append((target, here))
        return messages

    def subscriptions(self, topics: Int64Array, brokers: Int64Array) -> Int64Array:
        """The same for many pairs of topic and broker: (pair,)."""
        pairs = Subscribing(topics, brokers, self.members[brokers, topics])
        if self.climbs:
            is_message = np.ones(self.hung.broker_count, dtype=np.bool_)
            below = np.ascontiguousarray(self.below.T)
            climbed: Int64Array = climbing_messages(self.hung.parents, below, pairs, is_message)
            return climbed
        joined = Rows(self.hung.joined.offsets, self.hung.joined.neighbours)
        messages: Int64Array = outward_messages(joined, self.hung.parents, self.below, pairs)
        return messages

    def traffic(self) -> Traffic:
        """Edge by edge, in both directions."""
        return self._traffic(*self._crossings())

    def totals(self) -> Totals:
        """The same, and the rest."""
        downward, upward = self._crossings()
        children = self.hung.order[1:]
        below = self.below[children]
        above = self.below[self.hung.root] - below
        return Totals(
            **parts_of(self._traffic(downward, upward)),
            diameters=self._diameters(),
            loads=self._loads(downward + upward),
            management=int(np.count_nonzero(below == 1))
            + (0 if self.climbs else int(np.count_nonzero(above == 1))),
            k_held=1,
        )

    def _crossings(self) -> tuple[Sums, Sums]:
        """Publishers whose messages go down and up each edge: (child, topic) each."""
        children = self.hung.order[1:]
        below = self.below[children]
        inside = self.sizes[children]
        downward = (self.hung.broker_count - inside) * (below > 0)
        upward = inside * (self.climbs | (self.below[self.hung.root] > below))
        return downward, upward

    def _traffic(self, downward: Sums, upward: Sums) -> Traffic:
        children = self.hung.order[1:]
        parents = self.hung.parents[children]
        broker_count = self.hung.broker_count
        below = self.below[children]
        above = self.below[self.hung.root] - below
        inside = self.sizes[children]
        internal = (downward * self.members[children] + upward * self.members[parents]).sum(axis=0)
        messages = (downward + upward).sum(axis=0)
        crossings_down = (broker_count - inside) * below
        crossings_up = inside * above
        delay_hops = (crossings_down + crossings_up).sum(axis=0)
        delays_ms = self.snapshot.delays_ms
        delay_ms = (
            None
            if delays_ms is None
            else delays_ms[parents, children] @ crossings_down
            + delays_ms[children, parents] @ crossings_up
        )
        return Traffic(
            internal=internal,
            external=messages - internal,
            entry=np.zeros_like(messages),
            delivered=broker_count * self.below[self.hung.root],
            missed=np.zeros_like(messages),
            delay_hops=delay_hops,
            delay_tree_hops=delay_hops,
            delay_ms=delay_ms,
            delay_tree_ms=delay_ms,
        )

    def _members_behind(self, here: int, target: int, topic: int) -> int:
        """Members on the far side of the edge from here to the target."""
        if self.hung.parents[here] == target:
            return int(self.below[self.hung.root, topic] - self.below[here, topic])
        return int(self.below[target, topic])

    def _loads(self, messages: Sums) -> Float64Array:
        """Every message is handled at both ends of its edge; messages: (child, topic)."""
        handled = messages @ self.snapshot.publications
        children = self.hung.order[1:]
        loads = np.zeros(self.hung.broker_count, dtype=np.float64)
        loads[children] += handled
        np.add.at(loads, self.hung.parents[children], handled)
        return loads

    def _diameters(self) -> Int64Array:
        """The longest path between members: at its top, the two deepest branches meet."""
        nobody = -3 * self.hung.broker_count
        deepest = np.where(self.members, 0, nobody).astype(np.int64)
        diameters = np.zeros(self.members.shape[1], dtype=np.int64)
        for child in self.hung.order[:0:-1]:
            parent = self.hung.parents[child]
            branch = deepest[child] + 1
            np.maximum(diameters, deepest[parent] + branch, out=diameters)
            np.maximum(deepest[parent], branch, out=deepest[parent])
        return diameters


def acyclic_of(overlay: Overlay, snapshot: Snapshot) -> Acyclic:
    """The forwarding of an overlay whose links make a tree.

    Every broker publishes on every topic here. So if origins advertise, all do, and publications
    follow subscriptions even where there is a root; the advertisements are not counted.
    """
    links = link_indexes(overlay, snapshot)
    root = overlay.params.get("root")
    if root is None:
        return acyclic(tree(len(snapshot.brokers), links), snapshot)
    if root not in snapshot.brokers:
        raise ProblemError(f"The root {root!r} is no broker of the network; name one that is.")
    hung = tree(len(snapshot.brokers), links, root=snapshot.brokers.index(BrokerName(str(root))))
    return acyclic(hung, snapshot, climbs=not overlay.params.get("advertisements", False))


def acyclic(hung: Tree, snapshot: Snapshot, *, climbs: bool = False) -> Acyclic:
    """The forwarding of a tree of the snapshot's brokers; climbs: all goes up to its root."""
    members = snapshot.interests.dense()
    weights = publisher_weights(snapshot)
    everybody = np.ones((hung.broker_count, 1), dtype=np.int64)
    return Acyclic(
        snapshot=snapshot,
        hung=hung,
        sizes=subtree_sums(hung, everybody if weights is None else weights),
        members=members,
        below=subtree_sums(hung, members.astype(np.int64)),
        climbs=climbs,
    )
