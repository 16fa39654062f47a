"""Forwarding on a hypercube: subscriptions stay in their part, publications visit every part.

A publication climbs to the publisher's dominating node, is broadcast to all dominating nodes over a
binomial tree, and goes down from each: along the paths that subscriptions have left (selective), or
to all of a sub-partition where anybody wants it (broadcast). The first of a sub-partition to want a
topic may have to tell all of it (subscriptions = "sub_partition"). Messages between positions of
one host cost nothing; all that a broker receives is internal if it is interested, at whichever of
its positions. Where the broadcast starts nothing is received, and a broker is served at its own
position alone. [SHG, 2.2]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.model.interests import BoolArray, Int32Array, Int64Array, Interests
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.overlays.hypercube import (
    AS_WE_READ,
    Hypercube,
    Readings,
    broadcast_parents,
    hypercube_of,
    readings_of,
)
from meshwright.planning.evaluation.forwarding import (
    PublicationMessages,
    Sums,
    Totals,
    Traffic,
    parts_of,
)
from meshwright.planning.evaluation.indexes import cube_positions
from meshwright.planning.evaluation.kernels.subscribing import Subscribing, climbing_messages
from meshwright.planning.evaluation.publishers import (
    at_topics,
    counts_by,
    over_publishers,
    publisher_weights,
)
from meshwright.planning.evaluation.routes import (
    greatest_others,
    hop_by_hop,
    members_below,
    sums_by,
)


@dataclass(frozen=True, slots=True, eq=False)
class Climbs:
    """From every position up to its dominating node, and back down: (position,) each.

    is_message: whether the first hop leaves the host. hops: messages on the whole way.
    up_ms, down_ms: its delays, 0 where the snapshot knows none.
    """

    is_message: BoolArray
    hops: Int64Array
    up_ms: Float64Array
    down_ms: Float64Array


@dataclass(frozen=True, slots=True, eq=False)
class Broadcasts:
    """From every dominating node to every other: (origin, dominator) each, by word on their cube.

    senders: the broker that hands the event on. is_message: whether to another broker.
    hops, delays_ms: from the origin.
    """

    senders: Int32Array
    is_message: BoolArray
    hops: Int64Array
    delays_ms: Float64Array


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Brokers on the positions of a hypercube.

    positions: each broker's own, (broker,). hosts: the broker of each position, (position,).
    words: the word of each position's dominating node on their cube, (position,).
    members: topics by brokers. below: members that climb through a position, (topic, position).
    """

    snapshot: Snapshot
    cube: Hypercube
    readings: Readings
    positions: Int32Array
    hosts: Int32Array
    words: Int64Array
    members: Interests
    below: Int64Array
    climbs: Climbs
    broadcasts: Broadcasts

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """One publication: up, across all dominating nodes, down."""
        members = self.members.of(topic)
        origin = self.words[self.positions[publisher]]
        across = self.hosts[self.cube.dominators[self.broadcasts.is_message[origin]]]
        receivers = np.concatenate((across, self.hosts[self._received(self.below[topic])]))
        internal = int(np.count_nonzero(np.isin(receivers, members)))
        entry = int(self.climbs.hops[self.positions[publisher]])
        places = self.positions[members]
        delays = entry + self.broadcasts.hops[origin, self.words[places]] + self.climbs.hops[places]
        return PublicationMessages(
            entry, internal, len(receivers) - internal, delays.astype(np.int32)
        )

    def subscription(self, topic: int, broker: int) -> int:
        """Up to the first position that knows the topic from another broker."""
        own = int(broker in self.members.of(topic))
        position = self.positions[broker]
        messages = 0
        while self.cube.parents[position] != position and self.below[topic, position] == own:
            messages += int(self.climbs.is_message[position])
            position = self.cube.parents[position]
        if self.below[topic, self.cube.dominating_nodes[position]] == own:
            messages += int(self._announced[position])
        return messages

    def all_subscriptions(self) -> int:
        """Messages of all interests there are, subscribed one after another in any order."""
        is_wanted = self.below > 0
        climbing = int(np.count_nonzero(is_wanted & self.climbs.is_message))
        return climbing + int(np.count_nonzero(is_wanted, axis=0) @ self._announced_once())

    def subscriptions(self, topics: Int64Array, brokers: Int64Array) -> Int64Array:
        """The same for many pairs of topic and broker: (pair,)."""
        own = self.snapshot.interests.dense()[brokers, topics]
        places = self.positions[brokers].astype(np.int64)
        climbing: Int64Array = climbing_messages(
            self.cube.parents, self.below, Subscribing(topics, places, own), self.climbs.is_message
        )
        is_first = self.below[topics, self.cube.dominating_nodes[places]] == own
        messages: Int64Array = climbing + is_first * self._announced[places]
        return messages

    def traffic(self) -> Traffic:
        """Up and across by origin, for all topics alike; down by topic."""
        return self._traffic(self._received(self.below))

    def totals(self) -> Totals:
        """The same, and the rest."""
        received = self._received(self.below)
        return Totals(
            **parts_of(self._traffic(received)),
            diameters=self._diameters(),
            loads=self._loads(self._origins(), received),
            management=self._management(),
            k_held=1,
        )

    def _management(self) -> int:
        is_last = self.below == 1
        climbing = int(np.count_nonzero(is_last & self.climbs.is_message))
        return climbing + int(np.count_nonzero(is_last, axis=0) @ self._announced_once())

    @property
    def _announced(self) -> Int64Array:
        """Messages by which the sub-partition of a position learns of a topic: (position,)."""
        if self.readings.subscriptions == "path":
            return np.zeros(self.cube.position_count, dtype=np.int64)
        counts = np.bincount(
            self.words[self.climbs.is_message], minlength=len(self.cube.dominators)
        )
        announced: Int64Array = counts[self.words]
        return announced

    def _announced_once(self) -> Int64Array:
        """The same, counted at the dominating nodes alone: (position,)."""
        is_dominating = self.cube.parents == np.arange(self.cube.position_count)
        announced: Int64Array = self._announced * is_dominating
        return announced

    def _origins(self) -> Sums:
        """Publishers that climb to each dominating node: (dominator, topic) or (dominator, 1)."""
        weights = publisher_weights(self.snapshot)
        return counts_by(self.words[self.positions], len(self.cube.dominators), weights)

    def _traffic(self, received: BoolArray) -> Traffic:
        broker_count, topic_count = len(self.positions), self.members.row_count
        counts = self.members.counts()
        topics, places = self.members.row_of_pairs(), self.positions[self.members.columns]
        is_interested = self.snapshot.interests.dense()
        origins = self._origins()
        across = self.broadcasts.is_message.T @ origins
        internal = (across * is_interested[self.hosts[self.cube.dominators]]).sum(axis=0) + (
            broker_count * np.count_nonzero(received & is_interested[self.hosts].T, axis=1)
        )
        messages = across.sum(axis=0) + broker_count * np.count_nonzero(received, axis=1)
        entry = self._ways_up(self.climbs.hops)
        from_start = at_topics(self.broadcasts.hops.T @ origins, self.words[places], topics)
        tree_hops = sums_by(
            topics, from_start + broker_count * self.climbs.hops[places], topic_count
        )
        delay_ms, delay_tree_ms = self._delays_ms(origins)
        return Traffic(
            internal=internal,
            external=messages - internal,
            entry=entry,
            delivered=broker_count * counts,
            missed=np.zeros(topic_count, dtype=np.int64),
            delay_hops=entry * counts + tree_hops,
            delay_tree_hops=tree_hops,
            delay_ms=delay_ms,
            delay_tree_ms=delay_tree_ms,
        )

    def _ways_up(self, ways: NDArray[Any]) -> Sums:
        """Ways up over publishers, (topic,); ways: (position,)."""
        every_topic = np.zeros(self.members.row_count, dtype=np.int64)
        weights = publisher_weights(self.snapshot)
        return over_publishers(ways[self.positions][:, None], every_topic, weights)

    def _received(self, below: Int64Array) -> BoolArray:
        """Whether a position below its dominating node gets a message: (..., position)."""
        if self.readings.events == "broadcast":
            below = below[..., self.cube.dominating_nodes]
        return (below > 0) & self.climbs.is_message

    def _delays_ms(self, origins: Sums) -> tuple[Float64Array, Float64Array] | tuple[None, None]:
        """Whole ways, and ways from the dominating node on, summed as hops are: (topic,) each."""
        if self.snapshot.delays_ms is None:
            return None, None
        places = self.positions[self.members.columns]
        topics = self.members.row_of_pairs()
        from_start = self.broadcasts.delays_ms.T @ origins
        to_members = at_topics(from_start, self.words[places], topics)
        to_members = to_members + len(self.positions) * self.climbs.down_ms[places]
        delays = np.zeros(self.members.row_count, dtype=np.float64)
        np.add.at(delays, topics, to_members)
        return delays + self._ways_up(self.climbs.up_ms) * self.members.counts(), delays

    def _diameters(self) -> Int64Array:
        """The longest way from one member to another, over each pair of dominating nodes."""
        diameters = np.zeros(self.members.row_count, dtype=np.int64)
        for topic in range(len(diameters)):
            places = self.positions[self.members.of(topic)]
            places = places[np.argsort(self.words[places], kind="stable")]
            words, starts = np.unique(self.words[places], return_index=True)
            if not len(words):
                continue
            climbs = self.climbs.hops[places]
            longest = np.maximum.reduceat(climbs, starts)
            between = longest[:, None] + self.broadcasts.hops[np.ix_(words, words)] + longest
            np.fill_diagonal(between, 0)
            others = greatest_others(np.append(starts, len(places)), climbs)
            within = np.where(others < 0, 0, climbs + others)
            diameters[topic] = max(between.max(), within.max())
        return diameters

    def _loads(self, origins: Sums, received: BoolArray) -> Float64Array:
        """Messages at both their ends, times publications: (broker,)."""
        publications = self.snapshot.publications
        weights = publisher_weights(self.snapshot)
        own = np.full(len(self.positions), publications.sum())
        own = own if weights is None else weights @ publications
        loads = np.zeros(len(self.positions), dtype=np.float64)
        for routes, here, above in _climb(self.cube, self.positions):
            leaving = self.climbs.is_message[here]
            np.add.at(loads, self.hosts[here[leaving]], own[routes[leaving]])
            np.add.at(loads, self.hosts[above[leaving]], own[routes[leaving]])
        starts, words = np.nonzero(self.broadcasts.is_message)
        spread = (origins * publications).sum(axis=1)[starts]
        np.add.at(loads, self.hosts[self.cube.dominators[words]], spread)
        np.add.at(loads, self.broadcasts.senders[starts, words], spread)
        handled = len(self.positions) * (publications @ received)
        np.add.at(loads, self.hosts, handled)
        np.add.at(loads, self.hosts[self.cube.parents], handled)
        return loads


def partition_of(overlay: Overlay, snapshot: Snapshot) -> Partition:
    """The forwarding of an overlay that has positions on a hypercube."""
    cube = hypercube_of(len(overlay.brokers), overlay.params)
    positions = cube_positions(overlay, snapshot)
    return partition(cube, positions, snapshot, readings_of(overlay.params))


def partition(
    cube: Hypercube,
    positions: Int32Array,
    snapshot: Snapshot,
    readings: Readings = AS_WE_READ,
) -> Partition:
    """The forwarding of brokers at given positions of a hypercube: (broker,)."""
    members = snapshot.interests.transposed()
    hosts = np.argsort(positions).astype(np.int32)[cube.hosts]
    starts = positions[members.columns]
    below = members_below(
        members,
        starts,
        cube.dominating_nodes[starts],
        lambda _, here: cube.parents[here],
        position_count=cube.position_count,
    )
    return Partition(
        snapshot=snapshot,
        cube=cube,
        readings=readings,
        positions=positions,
        hosts=hosts,
        words=np.searchsorted(cube.dominators, cube.dominating_nodes),
        members=members,
        below=below,
        climbs=_climbs(cube, hosts, snapshot.delays_ms),
        broadcasts=_broadcasts(cube, hosts, snapshot.delays_ms),
    )


def _climb(
    cube: Hypercube, starts: Int32Array
) -> Iterator[tuple[Int64Array, Int32Array, Int32Array]]:
    """Hop by hop from positions to their dominating nodes."""
    return hop_by_hop(starts, cube.dominating_nodes[starts], lambda _, here: cube.parents[here])


def _climbs(cube: Hypercube, hosts: Int32Array, delays_ms: Float64Array | None) -> Climbs:
    is_message = hosts != hosts[cube.parents]
    hops = np.zeros(cube.position_count, dtype=np.int64)
    up_ms = np.zeros(cube.position_count, dtype=np.float64)
    down_ms = np.zeros(cube.position_count, dtype=np.float64)
    for routes, here, above in _climb(cube, np.arange(cube.position_count, dtype=np.int32)):
        hops[routes] += is_message[here]
        if delays_ms is not None:
            up_ms[routes] += is_message[here] * delays_ms[hosts[here], hosts[above]]
            down_ms[routes] += is_message[here] * delays_ms[hosts[above], hosts[here]]
    return Climbs(is_message, hops, up_ms, down_ms)


def _broadcasts(cube: Hypercube, hosts: Int32Array, delays_ms: Float64Array | None) -> Broadcasts:
    """Word by word on the cube: a sender's distance from the origin is the lesser word."""
    dominator_count = len(cube.dominators)
    parents = np.stack([broadcast_parents(cube, int(origin)) for origin in cube.dominators])
    senders, receivers = hosts[parents], hosts[cube.dominators]
    is_message = senders != receivers
    sender_words = np.searchsorted(cube.dominators, parents)
    hops = np.zeros(parents.shape, dtype=np.int64)
    delays = np.zeros(parents.shape, dtype=np.float64)
    origins = np.arange(dominator_count)
    for relative in range(1, dominator_count):
        targets = origins ^ relative
        sources = sender_words[origins, targets]
        step = is_message[origins, targets]
        hops[origins, targets] = hops[origins, sources] + step
        if delays_ms is not None:
            hop_ms = delays_ms[hosts[cube.dominators[sources]], receivers[targets]]
            delays[origins, targets] = delays[origins, sources] + step * hop_ms
    return Broadcasts(senders, is_message, hops, delays)
