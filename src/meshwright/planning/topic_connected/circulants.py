"""Builders that give each topic a graph of its own and unite them: HararyPT and CyclePT.

The full mesh is here, too: its graph of each topic is complete, whatever the topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from meshwright.errors import CallerError
from meshwright.model.interests import BoolArray, Int32Array, Int64Array, Interests
from meshwright.planning.topic_connected.kernels.membership import Membership, membership_of
from meshwright.planning.topic_connected.kernels.orders import fewest_links_order, similarity_order
from meshwright.planning.topic_connected.validation import checked_k

Order = Literal["input", "random", "similarity", "fewest_edges"]


def harary(
    interests: Interests,
    *,
    k: int,
    order: Order = "input",
    rng: np.random.Generator | None = None,
) -> Int32Array:
    """Links of a Harary graph H(k, members) for every topic, in one order of brokers [kTCO].

    A topic of at most k members is a clique, and for k = 1 a path, the Harary graph of a tree.
    The order "random" needs rng; "similarity" is a greedy tour by shared topics; "fewest_edges"
    appends the broker that adds fewest links. Links come by distance in the order, then by topic.
    """
    checked_k(k)
    members = membership_of(interests)
    ranks = np.empty(interests.row_count, dtype=np.int64)
    ranks[broker_order(members, order, k, rng)] = np.arange(interests.row_count)
    seats = _seats(members, ranks[members.slot_brokers])
    reach = np.where(seats.sizes <= k, seats.sizes // 2, k // 2)
    chunks = [_steps(seats, distance, reach) for distance in range(1, reach.max(initial=0) + 1)]
    if k == 1:
        chunks.append(seats.linked(seats.places + 1 < seats.sizes, np.ones_like(seats.sizes)))
    elif k % 2 == 1:
        chunks.append(_chords(seats, k))
    return _united(chunks, interests.row_count)


def cycle(
    interests: Interests, *, rng: np.random.Generator, topic_keys: Int64Array | None = None
) -> Int32Array:
    """Links of a random cycle through the members of every topic [kTCO, CyclePT].

    A member's lot follows from chance, the topic's key, (topic,), and the member: with the same
    chance and keys, a topic of the same members has the same cycle whatever the others want.
    """
    members = membership_of(interests)
    if topic_keys is None:
        topic_keys = np.arange(interests.column_count)
    keys = np.repeat(topic_keys, np.diff(members.topic_offsets))
    seats = _seats(members, _lots(keys, members.slot_brokers, rng))
    reach = np.minimum(seats.sizes // 2, 1)
    return _united([_steps(seats, 1, reach)], interests.row_count)


def mesh(interests: Interests) -> Int32Array:
    """A link between any two brokers, as bridges are drawn by hand among a few."""
    ends = np.triu_indices(interests.row_count, k=1)
    return np.stack(ends, axis=1).astype(np.int32)


def _lots(keys: Int64Array, brokers: Int32Array, rng: np.random.Generator) -> NDArray[np.uint64]:
    """A number for each key and broker, by SplitMix64 from a random start: (slot,)."""
    step = np.uint64(0x9E3779B97F4A7C15)
    mixed = rng.integers(2**64, size=1, dtype=np.uint64)
    for part in (keys, brokers):
        mixed = mixed + (part.astype(np.uint64) + np.uint64(1)) * step
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


def broker_order(
    members: Membership, order: str, k: int, rng: np.random.Generator | None
) -> NDArray[np.integer]:
    """All brokers in the order in which `harary` seats them."""
    broker_count = len(members.broker_offsets) - 1
    if order == "input":
        return np.arange(broker_count)
    if order == "similarity":
        return np.asarray(similarity_order(members))
    if order == "fewest_edges":
        return np.asarray(fewest_links_order(members, max(1, k // 2)))
    if order != "random":
        raise CallerError(
            f"order is {order!r}: choose one of input, random, similarity, fewest_edges"
        )
    if rng is None:
        raise CallerError("a random order needs rng")
    return rng.permutation(broker_count)


@dataclass(frozen=True, slots=True, eq=False)
class _Seats:
    """The members of every topic in a row, topic after topic; all arrays are (slot,).

    starts: the first slot of the topic. sizes: its members. places: 0, 1, ... within the topic.
    """

    brokers: Int32Array
    starts: Int64Array
    sizes: Int64Array
    places: Int64Array

    def linked(self, chosen: BoolArray, distances: Int64Array) -> Int32Array:
        """Links from chosen slots to those so many places further round their topic."""
        places = (self.places[chosen] + distances[chosen]) % self.sizes[chosen]
        others = self.brokers[self.starts[chosen] + places]
        return np.stack([self.brokers[chosen], others], axis=1)


def _seats(members: Membership, keys: NDArray[np.integer]) -> _Seats:
    """Seat the members of each topic by ascending key: (slot,)."""
    counts = np.diff(members.topic_offsets)
    topics = np.repeat(np.arange(len(counts)), counts)
    starts = np.repeat(members.topic_offsets[:-1], counts)
    return _Seats(
        brokers=members.slot_brokers[np.lexsort((keys, topics))],
        starts=starts,
        sizes=np.repeat(counts, counts),
        places=np.arange(len(starts)) - starts,
    )


def _steps(seats: _Seats, distance: int, reach: Int64Array) -> Int32Array:
    """Links to the place at a distance, where the topic reaches so far."""
    return seats.linked(reach >= distance, np.full_like(seats.sizes, distance))


def _chords(seats: _Seats, k: int) -> Int32Array:
    """Links across for odd k: to the opposite place, or of an odd topic to the one before it."""
    half = seats.sizes // 2
    crossing = np.where(seats.sizes % 2 == 0, seats.places < half, seats.places <= half)
    return seats.linked(crossing & (seats.sizes > k), half)


def _united(chunks: list[Int32Array], broker_count: int) -> Int32Array:
    """All links, lower broker first, each at its first appearance."""
    links = np.concatenate([np.empty((0, 2), dtype=np.int32), *chunks])
    links.sort(axis=1)
    keys = links[:, 0].astype(np.int64) * broker_count + links[:, 1]
    _, firsts = np.unique(keys, return_index=True)
    return links[np.sort(firsts)].astype(np.int32)
