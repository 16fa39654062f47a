"""Forwarding on a tree: subscriptions spread over it, publications follow them.

A publication crosses an edge once if someone behind it is interested; so the brokers it visits are
the smallest subtree of the publisher and the members. A subscription crosses an edge if nobody
else on the near side has sent one before. Each edge parts the brokers in two, and counting the
publishers and members on either side counts everything. [OCBR, 5.1; mobility, 4.1]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import BoolArray, Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.planning.evaluation.forwarding import PublicationMessages, Totals


@dataclass(frozen=True, slots=True, eq=False)
class Acyclic:
    """A tree of brokers, hung from broker 0, and who is interested below each edge.

    neighbours: of each broker, ascending. order: brokers from the top down. parents: (broker,),
    the top's is itself. sizes: brokers in the subtree of each: (broker,).
    members: (broker, topic). below: members in the subtree of each broker: (broker, topic).
    """

    snapshot: Snapshot
    neighbours: tuple[tuple[int, ...], ...]
    order: Int32Array
    parents: Int32Array
    sizes: Int64Array
    members: BoolArray
    below: Int64Array

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication: every message received by a member is internal, by a relay external."""
        delays = np.full(len(self.order), -1, dtype=np.int32)
        delays[publisher] = 0
        internal = external = 0
        pending = [(publisher, publisher)]
        while pending:
            here, source = pending.pop()
            for target in self.neighbours[here]:
                if target != source and self._members_behind(here, target, topic):
                    delays[target] = delays[here] + 1
                    internal += int(self.members[target, topic])
                    external += int(not self.members[target, topic])
                    pending.append((target, here))
        return PublicationMessages(0, internal, external, delays[self.members[:, topic]])

    def subscription(self, topic: int, broker: int) -> int:
        """Edges, outward from the broker, that have no other member on their near side."""
        others = int(self.below[self.order[0], topic]) - int(self.members[broker, topic])
        messages = 0
        pending = [(broker, broker)]
        while pending:
            here, source = pending.pop()
            for target in self.neighbours[here]:
                if target != source and self._members_behind(here, target, topic) == others:
                    messages += 1
                    pending.append((target, here))
        return messages

    def totals(self) -> Totals:
        """Edge by edge, in both directions."""
        children = self.order[1:]
        parents = self.parents[children]
        broker_count = len(self.order)
        below = self.below[children]
        above = self.below[self.order[0]] - below
        inside = self.sizes[children][:, None]
        downward = (broker_count - inside) * (below > 0)
        upward = inside * (above > 0)
        internal = (downward * self.members[children] + upward * self.members[parents]).sum(axis=0)
        messages = (downward + upward).sum(axis=0)
        crossings_down = (broker_count - inside) * below
        crossings_up = inside * above
        delay_hops = (crossings_down + crossings_up).sum(axis=0)
        delays_ms = self.snapshot.delays_ms
        return Totals(
            internal=internal,
            external=messages - internal,
            entry=np.zeros_like(messages),
            delivered=broker_count * self.below[self.order[0]],
            missed=np.zeros_like(messages),
            delay_hops=delay_hops,
            delay_tree_hops=delay_hops,
            delay_ms=None
            if delays_ms is None
            else delays_ms[parents, children] @ crossings_down
            + delays_ms[children, parents] @ crossings_up,
            diameters=self._diameters(),
            loads=self._loads(downward + upward),
            management=int(np.count_nonzero(below == 1) + np.count_nonzero(above == 1)),
            k_held=1,
        )

    def _members_behind(self, here: int, target: int, topic: int) -> int:
        """Members on the far side of the edge from here to the target."""
        if self.parents[here] == target:
            return int(self.below[self.order[0], topic] - self.below[here, topic])
        return int(self.below[target, topic])

    def _loads(self, messages: Int64Array) -> Float64Array:
        """Every message is handled at both ends of its edge; messages: (child, topic)."""
        handled = messages @ self.snapshot.publications
        children = self.order[1:]
        loads = np.zeros(len(self.order), dtype=np.float64)
        loads[children] += handled
        np.add.at(loads, self.parents[children], handled)
        return loads

    def _diameters(self) -> Int64Array:
        """The longest path between members: at its top, the two deepest branches meet."""
        nobody = -3 * len(self.order)
        deepest = np.where(self.members, 0, nobody).astype(np.int64)
        diameters = np.zeros(self.members.shape[1], dtype=np.int64)
        for child in self.order[:0:-1]:
            parent = self.parents[child]
            branch = deepest[child] + 1
            np.maximum(diameters, deepest[parent] + branch, out=diameters)
            np.maximum(deepest[parent], branch, out=deepest[parent])
        return diameters


def acyclic(links: Int32Array, snapshot: Snapshot) -> Acyclic:
    """The forwarding of a tree; links: (link, 2)."""
    broker_count = len(snapshot.brokers)
    neighbours: list[list[int]] = [[] for _ in range(broker_count)]
    for one, other in links.tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)
    parents = np.full(broker_count, -1, dtype=np.int32)
    order = [0]
    parents[0] = 0
    for here in order:
        for target in sorted(neighbours[here]):
            if parents[target] < 0:
                parents[target] = here
                order.append(target)
    if len(links) != broker_count - 1 or len(order) != broker_count:
        raise ProblemError(
            f"{len(links)} links do not make a tree of {broker_count} brokers; "
            f"join all brokers by {broker_count - 1} links without a cycle."
        )
    members = snapshot.interests.dense()
    below = members.astype(np.int64)
    sizes = np.ones(broker_count, dtype=np.int64)
    for child in order[:0:-1]:
        below[parents[child]] += below[child]
        sizes[parents[child]] += sizes[child]
    return Acyclic(
        snapshot=snapshot,
        neighbours=tuple(tuple(sorted(row)) for row in neighbours),
        order=np.array(order, dtype=np.int32),
        parents=parents,
        sizes=sizes,
        members=members,
        below=below,
    )
