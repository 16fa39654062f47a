"""Chord: a ring where each position knows the successors of its powers of two.

A key belongs to the first position at or after it. A hop goes to the farthest finger that is not
past the target, so the remaining distance at least halves: at most 32 hops, and at most
ceil(log2 n) between n evenly spaced positions. If the route from r to v passes u, it starts with
the route from r to u, hence the routes from one root form a tree. [DYNATOPS, 1.1]
"""

from __future__ import annotations

import numpy as np

from meshwright.model.identifiers import KEY_BITS
from meshwright.model.interests import Int32Array, Int64Array
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_space import KEY_SPACE, checked_identifiers, clockwise
from meshwright.overlays.routes import geometry_from_hops, walk


def chord(position_count: int, *, identifiers: Int64Array | None = None) -> KeyGeometry:
    """The ring as arrays; evenly spaced unless identifiers are given."""
    ring = checked_identifiers(position_count, identifiers)
    fingers = _fingers(ring)
    return geometry_from_hops(
        "chord", "root_to_member", ring, _next_hops(ring, fingers), fingers, params={}
    )


def owner(identifiers: Int64Array, key: int) -> int:
    """The successor of a key: the first position at or after it."""
    return int(owners(identifiers, np.array([key], dtype=np.int64))[0])


def owners(identifiers: Int64Array, keys: Int64Array) -> Int32Array:
    """The successor of every key: (key,)."""
    successors = np.searchsorted(identifiers, keys) % len(identifiers)
    return successors.astype(np.int32)


def neighbours(identifiers: Int64Array, position: int) -> list[int]:
    """The distinct fingers of a position, nearest first, itself left out."""
    start = int(identifiers[position])
    fingers = [owner(identifiers, (start + (1 << bit)) % KEY_SPACE) for bit in range(KEY_BITS)]
    return [finger for finger in dict.fromkeys(fingers) if finger != position]


def next_hop(identifiers: Int64Array, source: int, key: int) -> int:
    """The farthest finger that is not past the key's owner; the source if it is the owner."""
    start = int(identifiers[source])
    limit = clockwise(start, int(identifiers[owner(identifiers, key)]))
    within = [
        finger
        for finger in neighbours(identifiers, source)
        if clockwise(start, int(identifiers[finger])) <= limit
    ]
    return within[-1] if within else source


def path(identifiers: Int64Array, source: int, key: int) -> list[int]:
    """Positions from the source to the key's owner, both included."""
    return walk(lambda position: next_hop(identifiers, position, key), source)


def _fingers(identifiers: Int64Array) -> Int32Array:
    """Successor of identifier + 2**bit: (position, bit)."""
    reach = np.int64(1) << np.arange(KEY_BITS, dtype=np.int64)
    return owners(identifiers, (identifiers[:, None] + reach) % KEY_SPACE)


def _next_hops(identifiers: Int64Array, fingers: Int32Array) -> Int32Array:
    """Next hops: (source, target).

    Of the fingers at 2**bit or farther, only those with 2**bit <= distance can be not past the
    target, and the largest such bit is not past it since the target itself lies at that distance.
    """
    distances = (identifiers[None, :] - identifiers[:, None]) % KEY_SPACE
    _, bit_lengths = np.frexp(distances.astype(np.float64))
    bits = np.maximum(bit_lengths - 1, 0)
    next_hops = np.take_along_axis(fingers, bits, axis=1)
    np.fill_diagonal(next_hops, np.arange(len(identifiers), dtype=np.int32))
    return next_hops
