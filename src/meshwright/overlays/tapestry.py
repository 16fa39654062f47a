"""Tapestry, the overlay of Bayeux: one digit of the identifier is fixed at each hop.

A key belongs to its surrogate root. The routes from a root to the members of a topic are its tree;
a route has at most as many hops as identifiers have digits, and at most
ceil(ceil(log2 n) / log2 base) between n evenly spaced positions. [DYNATOPS, 1.7]
Table entries are the nearest to the mirror image, see prefixes.py; the original takes the nearest
by round trip or any.
"""

from __future__ import annotations

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_space import checked_identifiers
from meshwright.overlays.prefixes import PrefixRouting, digit_bits_of
from meshwright.overlays.routes import geometry_from_hops, walk

BASE = 16


def tapestry(
    position_count: int, *, identifiers: Int64Array | None = None, base: int = BASE
) -> KeyGeometry:
    """The mesh as arrays; evenly spaced unless identifiers are given."""
    positions = checked_identifiers(position_count, identifiers)
    next_hops = _routing(positions, base).next_hops()
    # Every neighbour is the next hop towards itself, so the next hops name all neighbours.
    return geometry_from_hops(
        "tapestry", "root_to_member", positions, next_hops, next_hops, params={"base": base}
    )


def owner(identifiers: Int64Array, key: int, *, base: int = BASE) -> int:
    """The surrogate root of a key."""
    return _routing(identifiers, base).owner(key)


def owners(identifiers: Int64Array, keys: Int64Array, *, base: int = BASE) -> Int32Array:
    """The surrogate root of every key: (key,)."""
    return _routing(identifiers, base).owners(keys)


def neighbours(identifiers: Int64Array, position: int, *, base: int = BASE) -> list[int]:
    """The routing table of a position, by row and digit."""
    return _routing(identifiers, base).neighbours(position)


def next_hop(identifiers: Int64Array, source: int, key: int, *, base: int = BASE) -> int:
    """The position that agrees with the key's surrogate in one digit more."""
    return _routing(identifiers, base).next_hop(source, key)


def path(identifiers: Int64Array, source: int, key: int, *, base: int = BASE) -> list[int]:
    """Positions from the source to the key's owner, both included."""
    routing = _routing(identifiers, base)
    return walk(lambda position: routing.next_hop(position, key), source)


def _routing(identifiers: Int64Array, base: int) -> PrefixRouting:
    return PrefixRouting(identifiers, digit_bits_of(base))
