"""The scalable hierarchical graph: a hypercube where one event partition meets all subscriptions.

Positions are n-bit words. The high n - k bits name a subscription partition; the words in it whose
low k bits are all 0 or all 1 are its two dominating nodes. Every position belongs to the nearer of
the two, its bit 0 deciding a tie, at most k // 2 hops away. All dominating nodes form a cube of
n - k + 1 dimensions: the partner in the partition is dimension 0, the high bits are the others.
Any number of brokers: n = ceil(log2 N), and a position without a broker of its own is hosted by
that with its top bit cleared; a message between positions of one host costs nothing. [SHG, 2]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Parameter
from meshwright.overlays.routes import links_between, walk

Reading = Literal["cube", "length"]
EventReading = Literal["selective", "broadcast"]
SubscriptionReading = Literal["path", "sub_partition"]


@dataclass(frozen=True, slots=True)
class Readings:
    """How two sentences of the paper are read that say less than an algorithm needs.

    events: a dominating node sends an event down the paths of the subscriptions that it matches
    (selective), or to its whole sub-partition if it matches any there (broadcast).
    subscriptions: known on their path up to the dominating node (path), or to the whole
    sub-partition, as "all the nodes insert the new pattern" (sub_partition). [SHG, 2.2]
    """

    events: EventReading = "selective"
    subscriptions: SubscriptionReading = "path"


AS_WE_READ = Readings()


@dataclass(frozen=True, slots=True, eq=False)
class Hypercube:
    """Virtual positions, the brokers that host them, and the way of each to its dominating node.

    hosts: the broker of each position, (position,). dominating_nodes, parents, distances: where a
    position's subscriptions go, the next position on the way, and the hops, (position,); a
    dominating node is its own parent. dominators: the dominating nodes in the order of their words
    on the cube they form, (dominator,). links: pairs of brokers, lower first, (link, 2).
    """

    broker_count: int
    dimension_count: int
    low_bit_count: int
    hosts: Int32Array
    dominating_nodes: Int32Array
    parents: Int32Array
    distances: Int32Array
    dominators: Int32Array
    links: Int32Array

    def __post_init__(self) -> None:
        for array in (self.hosts, self.dominating_nodes, self.parents, self.distances):
            array.setflags(write=False)
        self.dominators.setflags(write=False)
        self.links.setflags(write=False)

    @property
    def position_count(self) -> int:
        return len(self.hosts)


def hypercube(broker_count: int, *, low_bit_count: int | None = None) -> Hypercube:
    """The hypercube for any number of brokers; half of its bits are low unless told otherwise."""
    dimension_count = dimensions_for(broker_count)
    low_bits = max(1, dimension_count // 2) if low_bit_count is None else low_bit_count
    if not 1 <= low_bits <= max(1, dimension_count - 1):
        raise ProblemError(
            f"{low_bits} low bits do not fit a hypercube of {dimension_count} dimensions; "
            f"choose between 1 and {max(1, dimension_count - 1)}."
        )
    positions = np.arange(1 << dimension_count, dtype=np.int32)
    dominating_nodes = _dominating_nodes(positions, low_bits)
    differing = positions ^ dominating_nodes
    hosts = np.where(positions < broker_count, positions, positions & ~_top(dimension_count))
    return Hypercube(
        broker_count=broker_count,
        dimension_count=dimension_count,
        low_bit_count=low_bits,
        hosts=hosts,
        dominating_nodes=dominating_nodes,
        parents=positions ^ (differing & -differing),
        distances=np.bitwise_count(differing).astype(np.int32),
        dominators=_dominators(dimension_count, low_bits),
        links=_links(hosts, dimension_count, low_bits),
    )


def hypercube_of(broker_count: int, params: Mapping[str, Parameter]) -> Hypercube:
    """The hypercube that an overlay's parameters say."""
    return hypercube(broker_count, low_bit_count=low_bit_count_of(params))


def low_bit_count_of(params: Mapping[str, Parameter]) -> int | None:
    """How many bits are low by an overlay's parameters; None for half of them."""
    low_bit_count = params.get("low_bit_count")
    if low_bit_count is not None and (
        isinstance(low_bit_count, bool) or not isinstance(low_bit_count, int)
    ):
        raise ProblemError(f"low_bit_count is a whole number, not {low_bit_count!r}; correct it.")
    return low_bit_count


def readings_of(params: Mapping[str, Parameter]) -> Readings:
    """How an overlay's parameters read the paper."""
    events, subscriptions = params.get("events"), params.get("subscriptions")
    for name, value, known in (
        ("events", events, get_args(EventReading)),
        ("subscriptions", subscriptions, get_args(SubscriptionReading)),
    ):
        if value is not None and value not in known:
            raise ProblemError(
                f"A hypercube knows no {name} {value!r}; choose {' or '.join(known)}."
            )
    return Readings(
        events="broadcast" if events == "broadcast" else "selective",
        subscriptions="sub_partition" if subscriptions == "sub_partition" else "path",
    )


def dimensions_for(broker_count: int) -> int:
    """The least dimensions, at least one, that give every broker a position."""
    if broker_count < 1:
        raise ProblemError(
            f"A hypercube cannot have {broker_count} brokers; give it at least one broker."
        )
    return max(1, (broker_count - 1).bit_length())


def host(broker_count: int, position: int) -> int:
    """The broker at a position; one beyond the last is hosted where its top bit is cleared."""
    if position < broker_count:
        return position
    return position & ~_top(dimensions_for(broker_count))


def dominating_node(position: int, low_bit_count: int) -> int:
    """The dominating node nearest to a position; a tie follows bit 0."""
    low_mask = (1 << low_bit_count) - 1
    ones = (position & low_mask).bit_count()
    is_tie = 2 * ones == low_bit_count
    is_high = position & 1 == 1 if is_tie else 2 * ones > low_bit_count
    return position | low_mask if is_high else position & ~low_mask


def partner(dominator: int, low_bit_count: int) -> int:
    """The other dominating node of the same partition."""
    return dominator ^ ((1 << low_bit_count) - 1)


def neighbours(position: int, dimension_count: int, low_bit_count: int) -> list[int]:
    """Positions that differ in one bit, and for a dominating node its partner too."""
    near = [position ^ (1 << bit) for bit in range(dimension_count)]
    other = partner(position, low_bit_count)
    if dominating_node(position, low_bit_count) == position and other not in near:
        near.append(other)
    return near


def next_hop(source: int, target: int) -> int:
    """The source with the lowest bit flipped that differs from the target."""
    differing = source ^ target
    return source ^ (differing & -differing)


def path(source: int, target: int) -> list[int]:
    """Positions from the source to the target, both included: differing bits ascending."""
    return walk(lambda position: next_hop(position, target), source)


def sub_partition(cube: Hypercube, dominator: int) -> Int32Array:
    """Positions that belong to a dominating node, ascending."""
    return np.flatnonzero(cube.dominating_nodes == dominator).astype(np.int32)


def dominator_links(cube: Hypercube, reading: Reading = "cube") -> Int32Array:
    """Adjacent dominating nodes as pairs of positions, lower first, ascending: (link, 2).

    `cube` joins partners and those that differ in one high bit, and is always connected. `length`
    is the literal text: any two whose numbers of ones differ by one; it falls apart where
    n - k < k - 1, so nothing is routed on it.
    """
    lower, upper = np.meshgrid(np.sort(cube.dominators), np.sort(cube.dominators), indexing="ij")
    if reading == "cube":
        words = _words(cube, lower) ^ _words(cube, upper)
        is_adjacent = np.bitwise_count(words) == 1
    else:
        ones = np.bitwise_count(lower).astype(np.int32) - np.bitwise_count(upper)
        is_adjacent = np.abs(ones) == 1
    chosen = is_adjacent & (lower < upper)
    return np.stack((lower[chosen], upper[chosen]), axis=1)


def broadcast_parents(cube: Hypercube, origin: int) -> Int32Array:
    """Who hands an event of the origin on to each dominating node; the origin's is itself.

    A binomial tree on the cube: one that got the event over dimension i forwards it over the
    higher dimensions only, so each gets it once. Positions, aligned with `dominators`.
    """
    relative = _relative_words(cube, origin)
    _, bit_lengths = np.frexp(relative.astype(np.float64))
    arrived_over = np.where(relative > 0, np.int32(1) << np.maximum(bit_lengths - 1, 0), 0)
    parents: Int32Array = cube.dominators[np.arange(len(relative)) ^ arrived_over]
    return parents


def broadcast_hops(cube: Hypercube, origin: int) -> Int32Array:
    """Hops of an event of the origin to each dominating node, aligned with `dominators`."""
    return np.bitwise_count(_relative_words(cube, origin)).astype(np.int32)


def _top(dimension_count: int) -> int:
    return 1 << (dimension_count - 1)


def _dominating_nodes(positions: Int32Array, low_bit_count: int) -> Int32Array:
    low_mask = np.int32((1 << low_bit_count) - 1)
    twice_ones = 2 * np.bitwise_count(positions & low_mask).astype(np.int32)
    is_high = (twice_ones > low_bit_count) | ((twice_ones == low_bit_count) & (positions & 1 == 1))
    return np.where(is_high, positions | low_mask, positions & ~low_mask)


def _dominators(dimension_count: int, low_bit_count: int) -> Int32Array:
    """Dominating nodes by their word: the high bits, then whether the low bits are ones."""
    words = np.arange(1 << (dimension_count - low_bit_count + 1), dtype=np.int32)
    low_mask = np.int32((1 << low_bit_count) - 1)
    return (words >> 1 << low_bit_count) | (words & 1) * low_mask


def _words(cube: Hypercube, dominators: Int32Array) -> Int32Array:
    """Words of dominating nodes on the cube they form; the inverse of `dominators`."""
    return (dominators >> cube.low_bit_count << 1) | (dominators & 1)


def _relative_words(cube: Hypercube, origin: int) -> Int32Array:
    """In which dimensions each dominating node differs from the origin: (dominator,)."""
    if cube.dominating_nodes[origin] != origin:
        raise CallerError(f"Position {origin} is no dominating node; start from one that is.")
    words = np.arange(len(cube.dominators), dtype=np.int32)
    return words ^ _words(cube, np.array([origin], dtype=np.int32))


def _links(hosts: Int32Array, dimension_count: int, low_bit_count: int) -> Int32Array:
    """Pairs of brokers that host adjacent positions."""
    positions = np.arange(len(hosts), dtype=np.int32)
    near = positions[:, None] ^ (np.int32(1) << np.arange(dimension_count, dtype=np.int32))
    partners = np.where(
        _dominating_nodes(positions, low_bit_count) == positions,
        positions ^ np.int32((1 << low_bit_count) - 1),
        positions,
    )
    adjacent = np.concatenate((near, partners[:, None]), axis=1)
    sources = np.repeat(hosts, adjacent.shape[1])
    return links_between(sources, hosts[adjacent.ravel()], int(hosts.max()) + 1)
