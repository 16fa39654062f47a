"""Tapestry, the overlay of Bayeux: one digit of the identifier is fixed at each hop.

A key belongs to its surrogate root. The routes from a root to the members of a topic are its tree;
a route has at most as many hops as identifiers have digits, and at most
ceil(ceil(log2 n) / log2 base) between n evenly spaced positions. [DYNATOPS, 1.7]
Table entries are the nearest to the mirror image, see prefixes.py, or the nearest by round trip, as
in the original: those are chosen once, and the links say afterwards which they were.
"""

from __future__ import annotations

import numpy as np

from meshwright.model.interests import BoolArray, Int32Array, Int64Array
from meshwright.model.overlay import Parameter
from meshwright.model.snapshot import Float64Array
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_space import checked_identifiers
from meshwright.overlays.prefixes import PrefixRouting, digit_bits_of
from meshwright.overlays.routes import geometry_from_hops, walk

BASE = 16


def tapestry(
    position_count: int,
    *,
    identifiers: Int64Array | None = None,
    linked: BoolArray | None = None,
    base: int = BASE,
    neighbours: str = "mirror",
) -> KeyGeometry:
    """The mesh as arrays; evenly spaced unless identifiers are given.

    linked: of neighbours that are nearest, who was chosen, (position, position).
    """
    positions = checked_identifiers(position_count, identifiers)
    next_hops = PrefixRouting(positions, digit_bits_of(base), linked=linked).next_hops()
    params: dict[str, Parameter] = {"base": base}
    if neighbours != "mirror":
        params["neighbours"] = neighbours
    # Every neighbour is the next hop towards itself, so the next hops name all neighbours.
    return geometry_from_hops(
        "tapestry", "root_to_member", positions, next_hops, next_hops, params=params
    )


def nearest_neighbours(
    identifiers: Int64Array, delays_ms: Float64Array, *, base: int = BASE
) -> BoolArray:
    """Who has whom for an entry if each takes the candidate of least delay, in either direction.

    delays_ms: between positions, (position, position); ties go to the lower position.
    """
    count = len(identifiers)
    _, ranks = np.unique(delays_ms, return_inverse=True)
    ordered = ranks.reshape(count, count).astype(np.int64)
    next_hops = PrefixRouting(identifiers, digit_bits_of(base)).hops_to_first(ordered)
    is_chosen = np.zeros((count, count), dtype=np.bool_)
    is_chosen[np.arange(count)[:, None], next_hops] = True
    linked: BoolArray = is_chosen | is_chosen.T
    return linked


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
