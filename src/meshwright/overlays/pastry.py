"""Pastry, the overlay of Scribe: prefix routing that ends in a set of ring neighbours.

A key belongs to the numerically closest position on the ring; a tie goes to the one before the key.
Identifiers have 32 bits where the original has 128: only the leading digits that tell positions
apart decide a hop. Members join along their routes to the root. Between positions each hop but a
last one to a leaf fixes a digit more, hence the hop bound of Tapestry; a route to a key where no
position is may go on through positions ever closer. [SHG, 2.3]
Table entries are the nearest to the mirror image, see prefixes.py; the original takes any.
"""

from __future__ import annotations

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import BoolArray, Int32Array, Int64Array
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_space import KEY_SPACE, checked_identifiers, clockwise
from meshwright.overlays.prefixes import PrefixRouting, digit_bits_of
from meshwright.overlays.routes import geometry_from_hops, walk

BASE = 16
LEAF_COUNT = 16


def pastry(
    position_count: int,
    *,
    identifiers: Int64Array | None = None,
    base: int = BASE,
    leaf_count: int = LEAF_COUNT,
) -> KeyGeometry:
    """The ring and its tables as arrays; evenly spaced unless identifiers are given."""
    ring = checked_identifiers(position_count, identifiers)
    table_hops = _routing(ring, base).next_hops()
    targets = np.arange(position_count, dtype=np.int32)
    is_leaf = _leaf_matrix(position_count, leaf_count)
    next_hops = np.where(is_leaf, targets, table_hops)
    # Every table entry is the table's hop towards itself; the leaves come beside them.
    known = np.concatenate((table_hops, np.where(is_leaf, targets, np.int32(-1))), axis=1)
    params = {"base": base, "leaf_count": leaf_count}
    return geometry_from_hops("pastry", "member_to_root", ring, next_hops, known, params=params)


def owner(identifiers: Int64Array, key: int) -> int:
    """The numerically closest position."""
    return _closest(identifiers, range(len(identifiers)), key)


def owners(identifiers: Int64Array, keys: Int64Array) -> Int32Array:
    """The numerically closest position of every key: (key,)."""
    after = np.searchsorted(identifiers, keys) % len(identifiers)
    before = after - 1
    is_after = (identifiers[after] - keys) % KEY_SPACE < (keys - identifiers[before]) % KEY_SPACE
    return np.where(is_after, after, before % len(identifiers)).astype(np.int32)


def leaves(identifiers: Int64Array, position: int, *, leaf_count: int = LEAF_COUNT) -> list[int]:
    """The nearest positions on either side, from the farthest before to the farthest after."""
    count, reach = len(identifiers), _reach(len(identifiers), leaf_count)
    around = ((position + offset) % count for offset in range(-reach, reach + 1))
    return [leaf for leaf in dict.fromkeys(around) if leaf != position]


def neighbours(
    identifiers: Int64Array, position: int, *, base: int = BASE, leaf_count: int = LEAF_COUNT
) -> list[int]:
    """The leaf set and the routing table of a position, each neighbour once."""
    known = leaves(identifiers, position, leaf_count=leaf_count)
    known += _routing(identifiers, base).neighbours(position)
    return list(dict.fromkeys(known))


def next_hop(
    identifiers: Int64Array,
    source: int,
    key: int,
    *,
    base: int = BASE,
    leaf_count: int = LEAF_COUNT,
) -> int:
    """The closest leaf if the leaf set covers the key, else the table's entry, else who is closer.

    Who is closer must not share fewer digits with the key; the leaf on the key's side qualifies,
    so there is always one, and no position is visited twice.
    """
    near = leaves(identifiers, source, leaf_count=leaf_count)
    if _covers(identifiers, source, key, leaf_count):
        return _closest(identifiers, [source, *near], key)
    routing = _routing(identifiers, base)
    row = routing.shared_digits(int(identifiers[source]), key)
    entry = routing.entry(source, row, routing.digit(key, row))
    if entry is not None:
        return entry
    as_similar = [
        other
        for other in neighbours(identifiers, source, base=base, leaf_count=leaf_count)
        if routing.shared_digits(int(identifiers[other]), key) >= row
    ]
    return _closest(identifiers, as_similar, key)


def path(
    identifiers: Int64Array,
    source: int,
    key: int,
    *,
    base: int = BASE,
    leaf_count: int = LEAF_COUNT,
) -> list[int]:
    """Positions from the source to the key's owner, both included."""
    return walk(
        lambda position: next_hop(identifiers, position, key, base=base, leaf_count=leaf_count),
        source,
    )


def _routing(identifiers: Int64Array, base: int) -> PrefixRouting:
    return PrefixRouting(identifiers, digit_bits_of(base))


def _reach(position_count: int, leaf_count: int) -> int:
    """Leaves on either side; on a small ring they meet."""
    if leaf_count < 2 or leaf_count % 2:
        raise ProblemError(
            f"A leaf set cannot have {leaf_count} members; give it an even number, at least two."
        )
    return min(leaf_count // 2, position_count // 2)


def _covers(identifiers: Int64Array, source: int, key: int, leaf_count: int) -> bool:
    """Whether a key lies between the outermost leaves."""
    count, reach = len(identifiers), _reach(len(identifiers), leaf_count)
    if 2 * reach + 1 >= count:
        return True
    first = int(identifiers[source - reach])
    last = int(identifiers[(source + reach) % count])
    return clockwise(first, key) <= clockwise(first, last)


def _closest(identifiers: Int64Array, candidates: range | list[int], key: int) -> int:
    def distance_and_side(position: int) -> tuple[int, int]:
        before = clockwise(int(identifiers[position]), key)
        return min(before, KEY_SPACE - before), before

    return min(candidates, key=distance_and_side)


def _leaf_matrix(position_count: int, leaf_count: int) -> BoolArray:
    """Whether a position is in the leaf set of another, or is itself: (position, other)."""
    positions = np.arange(position_count)
    offsets = (positions[None, :] - positions[:, None]) % position_count
    reach = _reach(position_count, leaf_count)
    is_leaf: BoolArray = np.minimum(offsets, position_count - offsets) <= reach
    return is_leaf
