"""An explicit graph of brokers: whoever has a link is a neighbour, routes are shortest paths.

Of several shortest paths the one over the lowest neighbours is taken. There are no keys here: every
broker holds the topics it is interested in.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array, Int64Array
from meshwright.overlays.routes import walk


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Neighbours of broker b are neighbours[offsets[b]:offsets[b + 1]], ascending."""

    offsets: Int64Array
    neighbours: Int32Array

    def __post_init__(self) -> None:
        self.offsets.setflags(write=False)
        self.neighbours.setflags(write=False)

    @property
    def broker_count(self) -> int:
        return len(self.offsets) - 1

    def of(self, broker: int) -> Int32Array:
        """Neighbours of one broker, ascending."""
        return self.neighbours[self.offsets[broker] : self.offsets[broker + 1]]

    def degrees(self) -> Int64Array:
        """Number of neighbours of each broker: (broker,)."""
        return np.diff(self.offsets)


def graph(broker_count: int, links: NDArray[np.integer]) -> Graph:
    """A graph from unordered links, given once each: (link, 2)."""
    ends = np.asarray(links, dtype=np.int64).reshape(-1, 2)
    if ends.size and not 0 <= ends.min() <= ends.max() < broker_count:
        raise CallerError(f"A link names a broker outside 0 to {broker_count - 1}.")
    if bool(np.any(ends[:, 0] == ends[:, 1])):
        raise CallerError("A link joins a broker to itself; leave it out.")
    pairs = np.sort(np.concatenate((ends, ends[:, ::-1])) @ (max(broker_count, 1), 1))
    if bool(np.any(np.diff(pairs) == 0)):
        raise CallerError("A link is given twice; give each once.")
    sources, targets = np.divmod(pairs, max(broker_count, 1))
    offsets = np.zeros(broker_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(sources, minlength=broker_count), out=offsets[1:])
    return Graph(offsets, targets.astype(np.int32))


def links(joined: Graph) -> Int32Array:
    """The links of a graph, lower broker first, in ascending order: (link, 2)."""
    sources = np.repeat(np.arange(joined.broker_count, dtype=np.int32), joined.degrees())
    is_first = sources < joined.neighbours
    return np.stack((sources[is_first], joined.neighbours[is_first]), axis=1)


def components(joined: Graph) -> Int32Array:
    """Component of each broker, numbered in the order of their lowest brokers: (broker,)."""
    numbers = np.full(joined.broker_count, -1, dtype=np.int32)
    component_count = 0
    for first in range(joined.broker_count):
        if numbers[first] < 0:
            numbers[first] = component_count
            pending = [first]
            while pending:
                near = joined.of(pending.pop())
                fresh = near[numbers[near] < 0]
                numbers[fresh] = component_count
                pending += fresh.tolist()
            component_count += 1
    return numbers


def is_connected(joined: Graph) -> bool:
    """Whether every broker can reach every other."""
    return not bool(np.any(components(joined)))


def hops_from(joined: Graph, source: int) -> Int32Array:
    """Hops to each broker, -1 where there is no way: (broker,)."""
    hops = np.full(joined.broker_count, -1, dtype=np.int32)
    hops[source] = 0
    pending = deque([source])
    while pending:
        here = pending.popleft()
        for other in joined.of(here).tolist():
            if hops[other] < 0:
                hops[other] = hops[here] + 1
                pending.append(other)
    return hops


def next_hop(joined: Graph, source: int, target: int) -> int | None:
    """The lowest neighbour nearer to the target; None if there is no way."""
    way = path(joined, source, target)
    return None if way is None else way[min(1, len(way) - 1)]


def path(joined: Graph, source: int, target: int) -> list[int] | None:
    """Brokers from the source to the target, both included; None if there is no way."""
    hops = hops_from(joined, target)
    if hops[source] < 0:
        return None

    def nearer(here: int) -> int:
        return next((int(o) for o in joined.of(here) if hops[o] == hops[here] - 1), here)

    return walk(nearer, source)
