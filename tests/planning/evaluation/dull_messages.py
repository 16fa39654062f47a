"""Every message sent one hop at a time, with sets and dictionaries: the twin of closed forms."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.hypercube import Readings


@dataclass
class Trace:
    """Messages as (source, target) brokers, and when each member had the publication."""

    entry: list[tuple[int, int]] = field(default_factory=list)
    spread: list[tuple[int, int]] = field(default_factory=list)
    arrivals_hops: dict[int, int] = field(default_factory=dict)
    arrivals_ms: dict[int, float] = field(default_factory=dict)

    @property
    def messages(self) -> list[tuple[int, int]]:
        return self.entry + self.spread


class Twin(Protocol):
    def publication(self, topic: int, publisher: int) -> Trace: ...

    def subscription(self, topic: int, broker: int) -> int: ...


def members_of(snapshot: Snapshot) -> list[set[int]]:
    wanted = snapshot.interests.dense()
    return [set(np.flatnonzero(wanted[:, topic]).tolist()) for topic in range(wanted.shape[1])]


def hop_ms(snapshot: Snapshot, source: int, target: int) -> float:
    return 0.0 if snapshot.delays_ms is None else float(snapshot.delays_ms[source, target])


class Walker:
    """Remembers when the publication was where, and delivers."""

    def __init__(self, snapshot: Snapshot, publisher: int, place: object) -> None:
        self.snapshot = snapshot
        self.trace = Trace()
        self.clock: dict[object, tuple[int, float]] = {place: (0, 0.0)}
        self.broker: dict[object, int] = {place: publisher}

    def send(self, log: list[tuple[int, int]], source: object, target: object, broker: int) -> None:
        """Move from one place to another; places of one broker are joined for nothing."""
        hops, delay = self.clock[source]
        sender = self.broker[source]
        if sender != broker:
            log.append((sender, broker))
            hops += 1
            delay += hop_ms(self.snapshot, sender, broker)
        self.clock[target] = (hops, delay)
        self.broker[target] = broker

    def deliver(self, place: object, member: int) -> None:
        self.trace.arrivals_hops[member], self.trace.arrivals_ms[member] = self.clock[place]


class DullRendezvous:
    def __init__(
        self, geometry: KeyGeometry, positions: Int32Array, roots: Int32Array, snapshot: Snapshot
    ) -> None:
        self.geometry, self.snapshot = geometry, snapshot
        self.position = {broker: int(place) for broker, place in enumerate(positions)}
        self.broker = {place: broker for broker, place in self.position.items()}
        self.roots = [int(root) for root in roots]
        self.members = members_of(snapshot)

    def route(self, source: int, target: int) -> list[int]:
        places = [source]
        while places[-1] != target:
            places.append(int(self.geometry.next_hops[places[-1], target]))
        return places

    def branch(self, root: int, member: int) -> list[int]:
        """Places from the root down to a member."""
        if self.geometry.tree_direction == "root_to_member":
            return self.route(root, self.position[member])
        return self.route(self.position[member], root)[::-1]

    def publication(self, topic: int, publisher: int) -> Trace:
        root = self.roots[topic]
        walker = Walker(self.snapshot, publisher, "in")
        for place in self.route(self.position[publisher], root)[1:]:
            walker.send(walker.trace.entry, "in", "in", self.broker[place])
        children: dict[int, set[int]] = defaultdict(set)
        for member in self.members[topic]:
            branch = self.branch(root, member)
            for above, below in pairwise(branch):
                children[above].add(below)
        walker.send(walker.trace.spread, "in", root, self.broker[root])
        queue = deque([root])
        while queue:
            here = queue.popleft()
            if self.broker[here] in self.members[topic]:
                walker.deliver(here, self.broker[here])
            for below in children[here]:
                walker.send(walker.trace.spread, here, below, self.broker[below])
                queue.append(below)
        return walker.trace

    def subscription(self, topic: int, broker: int) -> int:
        root = self.roots[topic]
        upward = self.route(self.position[broker], root)
        if self.geometry.tree_direction == "root_to_member":
            return len(upward) - 1 + len(self.branch(root, broker)) - 1
        forwarders = {root}
        for member in self.members[topic] - {broker}:
            forwarders.update(self.branch(root, member))
        return next(hops for hops, place in enumerate(upward) if place in forwarders)


class DullPartition:
    """Positions are words, their sets are written out, and each position keeps its own table."""

    def __init__(
        self,
        dimension_count: int,
        low_bit_count: int,
        positions: Int32Array,
        snapshot: Snapshot,
        *,
        readings: Readings,
    ) -> None:
        self.snapshot, self.readings = snapshot, readings
        self.members = members_of(snapshot)
        self.position = {broker: int(place) for broker, place in enumerate(positions)}
        own = {place: broker for broker, place in self.position.items()}
        self.low_mask = 2**low_bit_count - 1
        self.high_bits = [1 << bit for bit in range(low_bit_count, dimension_count)]
        top = 1 << (dimension_count - 1)
        self.host = {p: own[p] if p in own else own[p - top] for p in range(2**dimension_count)}

    def dominator(self, place: int) -> int:
        zeros, ones = place & ~self.low_mask, place | self.low_mask
        to_zeros, to_ones = (place ^ zeros).bit_count(), (place ^ ones).bit_count()
        if to_zeros == to_ones:
            return ones if place & 1 else zeros
        return ones if to_ones < to_zeros else zeros

    def climb(self, place: int) -> list[int]:
        """Differing low bits are flipped in ascending order."""
        dominator, places = self.dominator(place), [place]
        for bit in range(self.low_mask.bit_length()):
            if (places[-1] ^ dominator) >> bit & 1:
                places.append(places[-1] ^ (1 << bit))
        return places

    def tables(self, members: set[int]) -> dict[int, set[int]]:
        """Children of each position that knows the topic, a member being its own child."""
        children: dict[int, set[int]] = defaultdict(set)
        for member in members:
            climb = self.climb(self.position[member])
            children[climb[0]].add(climb[0])
            for below, above in pairwise(climb):
                children[above].add(below)
        return children

    def publication(self, topic: int, publisher: int) -> Trace:
        walker = Walker(self.snapshot, publisher, "in")
        climb = self.climb(self.position[publisher])
        for place in climb[1:]:
            walker.send(walker.trace.entry, "in", "in", self.host[place])
        walker.send(walker.trace.spread, "in", climb[-1], self.host[climb[-1]])
        # Dimension 0 of the dominating nodes' cube is the partner, the others are the high bits.
        dimensions = [self.low_mask, *self.high_bits]
        children = self.tables(self.members[topic])
        if self.readings.events == "broadcast":
            wanting = {self.dominator(place) for place in children if children[place]}
            for place in self.host:
                if self.dominator(place) in wanting:
                    for below, above in pairwise(self.climb(place)):
                        children[above].add(below)
        queue = deque([(climb[-1], 0)])
        while queue:
            here, first = queue.popleft()
            for index, dimension in enumerate(dimensions):
                if index >= first:
                    target = here ^ dimension
                    walker.send(walker.trace.spread, here, target, self.host[target])
                    queue.append((target, index + 1))
            self.descend(walker, here, children, topic)
        return walker.trace

    def descend(
        self, walker: Walker, dominator: int, children: dict[int, set[int]], topic: int
    ) -> None:
        pending = [dominator]
        while pending:
            here = pending.pop()
            broker = self.host[here]
            if broker in self.members[topic] and self.position[broker] == here:
                walker.deliver(here, broker)
            for below in children[here] - {here}:
                walker.send(walker.trace.spread, here, below, self.host[below])
                pending.append(below)

    def subscription(self, topic: int, broker: int) -> int:
        knowing = self.tables(self.members[topic] - {broker})
        messages = 0
        for below, above in pairwise(self.climb(self.position[broker])):
            if below in knowing:
                break
            messages += int(self.host[below] != self.host[above])
        dominator = self.dominator(self.position[broker])
        if self.readings.subscriptions == "sub_partition" and dominator not in knowing:
            messages += sum(
                self.host[place] != self.host[self.climb(place)[1]]
                for place in self.host
                if self.dominator(place) == dominator != place
            )
        return messages


class DullGraph:
    """What the twins on explicit links share."""

    def __init__(self, links: Int32Array, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.members = members_of(snapshot)
        self.neighbours: dict[int, set[int]] = {b: set() for b in range(len(snapshot.brokers))}
        for one, other in links.tolist():
            self.neighbours[one].add(other)
            self.neighbours[other].add(one)


class DullTopicConnected(DullGraph):
    def hops_from(self, source: int) -> dict[int, int]:
        hops = {source: 0}
        queue = deque([source])
        while queue:
            here = queue.popleft()
            for target in self.neighbours[here] - set(hops):
                hops[target] = hops[here] + 1
                queue.append(target)
        return hops

    def way_in(self, topic: int, publisher: int) -> list[int]:
        """To the nearest member, lowest first, always by the lowest broker that gets nearer."""
        if not self.members[topic] or publisher in self.members[topic]:
            return [publisher]
        away = {member: self.hops_from(member) for member in self.members[topic]}
        reaching = [member for member in away if publisher in away[member]]
        if not reaching:
            return [publisher, min(self.members[topic])]
        entry = min(reaching, key=lambda member: (away[member][publisher], member))
        way = [publisher]
        while way[-1] != entry:
            nearer = away[entry][way[-1]] - 1
            way.append(
                min(other for other in self.neighbours[way[-1]] if away[entry][other] == nearer)
            )
        return way

    def publication(self, topic: int, publisher: int) -> Trace:
        walker = Walker(self.snapshot, publisher, "in")
        way = self.way_in(topic, publisher)
        for broker in way[1:]:
            walker.send(walker.trace.entry, "in", "in", broker)
        if not self.members[topic]:
            return walker.trace
        walker.send(walker.trace.spread, "in", way[-1], way[-1])
        walker.deliver(way[-1], way[-1])
        queue = deque([way[-1]])
        while queue:
            here = queue.popleft()
            for target in sorted(self.neighbours[here] & self.members[topic]):
                if target not in walker.trace.arrivals_hops:
                    walker.send(walker.trace.spread, here, target, target)
                    walker.deliver(target, target)
                    queue.append(target)
        return walker.trace

    def flooded(self, topic: int, publisher: int) -> int:
        """Messages when everybody sends to all but the one it first heard from."""
        if not self.members[topic]:
            return 0
        start = self.way_in(topic, publisher)[-1]
        heard_from = {start: start}
        queue, messages = deque([start]), 0
        while queue:
            here = queue.popleft()
            for target in self.neighbours[here] & self.members[topic]:
                if target != heard_from[here]:
                    messages += 1
                    if target not in heard_from:
                        heard_from[target] = here
                        queue.append(target)
        return messages

    def subscription(self, topic: int, broker: int) -> int:
        del topic
        return len(self.neighbours[broker])


class DullAcyclic(DullGraph):
    def tables(self, members: set[int]) -> dict[int, set[int]]:
        """Per broker, the neighbours that want the topic, after all members have subscribed."""
        wanting: dict[int, set[int]] = {broker: set() for broker in self.neighbours}
        for member in sorted(members):
            self.subscribe(member, wanting, members)
        return wanting

    def subscribe(self, broker: int, wanting: dict[int, set[int]], members: set[int]) -> int:
        """Send a subscription wherever none has been sent before; returns the messages."""
        queue, messages = deque([(broker, broker)]), 0
        while queue:
            here, source = queue.popleft()
            for target in self.neighbours[here] - {source}:
                if here not in wanting[target]:
                    wanting[target].add(here)
                    messages += 1
                    queue.append((target, here))
        assert messages < len(self.neighbours) or not members
        return messages

    def publication(self, topic: int, publisher: int) -> Trace:
        wanting = self.tables(self.members[topic])
        walker = Walker(self.snapshot, publisher, publisher)
        queue = deque([(publisher, publisher)])
        while queue:
            here, source = queue.popleft()
            if here in self.members[topic]:
                walker.deliver(here, here)
            for target in wanting[here] - {source}:
                walker.send(walker.trace.spread, here, target, target)
                queue.append((target, here))
        return walker.trace

    def subscription(self, topic: int, broker: int) -> int:
        others = self.members[topic] - {broker}
        return self.subscribe(broker, self.tables(others), others)


class DullHierarchy(DullAcyclic):
    """Everything climbs to a root; subscriptions go nowhere else."""

    def __init__(self, links: Int32Array, snapshot: Snapshot, root: int) -> None:
        super().__init__(links, snapshot)
        self.above = {root: root}
        for here in (order := [root]):
            for other in self.neighbours[here] - set(self.above):
                self.above[other] = here
                order.append(other)

    def subscribe(self, broker: int, wanting: dict[int, set[int]], members: set[int]) -> int:
        messages = 0
        while broker not in wanting[self.above[broker]] and self.above[broker] != broker:
            wanting[self.above[broker]].add(broker)
            messages += 1
            broker = self.above[broker]
        assert messages < len(self.neighbours) or not members
        return messages

    def publication(self, topic: int, publisher: int) -> Trace:
        children = self.tables(self.members[topic])
        walker = Walker(self.snapshot, publisher, publisher)
        queue = deque([(publisher, publisher)])
        while queue:
            here, source = queue.popleft()
            if here in self.members[topic]:
                walker.deliver(here, here)
            came_from_above = source == self.above[here] != here
            up = set() if came_from_above else {self.above[here]} - {here}
            for target in (children[here] | up) - {source}:
                walker.send(walker.trace.spread, here, target, target)
                queue.append((target, here))
        return walker.trace
