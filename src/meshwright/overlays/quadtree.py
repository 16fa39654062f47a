"""A quadtree of square cells with one broker a cell, the overlay of GeoPS as reconstructed.

An identifier is a Morton code on 32 bits: 16 base-4 digits that halve the map in both directions,
most significant first. On the usual map of 32 x 32 cells only the first five differ. A position
knows one position in each of the three sibling quadrants of each level, the nearest on the map to
its own place in that quadrant. A key is looked up like an identifier: its top bits choose the cell,
and where a cell is empty the next occupied quadrant, modulo four, stands in. Members join along
their routes to the root, at most one hop for each level that tells cells apart. [DYNATOPS, 1.7]
"""

from __future__ import annotations

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.identifiers import KEY_BITS
from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_space import checked_identifiers, even_identifiers
from meshwright.overlays.prefixes import PrefixRouting
from meshwright.overlays.routes import geometry_from_hops, walk

DIGIT_BITS = 2
DEPTH_USUAL = 5


def quadtree(position_count: int, *, identifiers: Int64Array | None = None) -> KeyGeometry:
    """The quadtree as arrays; brokers spread evenly over the cells unless identifiers are given."""
    if identifiers is None:
        cell_bits = KEY_BITS - DIGIT_BITS * depth_for(position_count)
        identifiers = even_identifiers(position_count) >> cell_bits << cell_bits
    positions = checked_identifiers(position_count, identifiers)
    next_hops = _routing(positions).next_hops()
    # Every neighbour is the next hop towards itself, so the next hops name all neighbours.
    return geometry_from_hops(
        "quadtree", "member_to_root", positions, next_hops, next_hops, params={}
    )


def depth_for(position_count: int) -> int:
    """Levels of the map: five, or as many as give every broker a cell."""
    depth = DEPTH_USUAL
    while 4**depth < position_count:
        depth += 1
    return depth


def owner(identifiers: Int64Array, key: int) -> int:
    """The broker in the key's cell, or the one that stands in for it."""
    return _routing(identifiers).owner(key)


def owners(identifiers: Int64Array, keys: Int64Array) -> Int32Array:
    """The broker in the cell of every key, or the one that stands in for it: (key,)."""
    return _routing(identifiers).owners(keys)


def neighbours(identifiers: Int64Array, position: int) -> list[int]:
    """One position in each occupied sibling quadrant, largest quadrants first."""
    return _routing(identifiers).neighbours(position)


def next_hop(identifiers: Int64Array, source: int, key: int) -> int:
    """The neighbour in the largest quadrant that holds the key's owner but not the source."""
    return _routing(identifiers).next_hop(source, key)


def path(identifiers: Int64Array, source: int, key: int) -> list[int]:
    """Positions from the source to the key's owner, both included."""
    routing = _routing(identifiers)
    return walk(lambda position: routing.next_hop(position, key), source)


def columns_and_rows(identifiers: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Places on the finest map, 65536 cells wide: (identifier,) each, or of any shape."""
    return _every_second_bit(identifiers), _every_second_bit(identifiers >> 1)


def identifiers_of_cells(columns: Int64Array, rows: Int64Array, depth: int) -> Int64Array:
    """Identifiers of cells of a map 2**depth cells wide: (cell,)."""
    codes = np.zeros(np.shape(columns), dtype=np.int64)
    for bit in range(depth):
        codes |= (columns >> bit & 1) << (2 * bit) | (rows >> bit & 1) << (2 * bit + 1)
    return codes << (KEY_BITS - DIGIT_BITS * depth)


def identifiers_of_coordinates(coordinates: Float64Array) -> Int64Array:
    """Distinct cells for brokers on a map that just holds them all: (broker,), in broker order.

    coordinates: latitude and longitude in degrees, (broker, 2). A broker whose cell is taken by an
    earlier one gets the nearest free cell. Costs brokers times cells.
    """
    if len(coordinates) == 0 or not bool(np.all(np.isfinite(coordinates))):
        raise CallerError("Coordinates must be a finite latitude and longitude for each broker.")
    depth = depth_for(len(coordinates))
    width = 1 << depth
    rows, columns = np.indices((width, width))
    is_free = np.ones((width, width), dtype=np.bool_)
    chosen = np.zeros((2, len(coordinates)), dtype=np.int64)
    for broker, (row, column) in enumerate(_places(coordinates, width)):
        distances = np.where(is_free, (rows - row) ** 2 + (columns - column) ** 2, np.inf)
        chosen[:, broker] = np.unravel_index(np.argmin(distances), distances.shape)
        is_free[tuple(chosen[:, broker])] = False
    return identifiers_of_cells(chosen[1], chosen[0], depth)


def _routing(identifiers: Int64Array) -> PrefixRouting:
    return PrefixRouting(identifiers, DIGIT_BITS, _map_distance)


def _map_distance(first: Int64Array, second: Int64Array) -> Int64Array:
    """Squared distance of two cells on the finest map."""
    first_columns, first_rows = columns_and_rows(first)
    second_columns, second_rows = columns_and_rows(second)
    return (first_columns - second_columns) ** 2 + (first_rows - second_rows) ** 2


def _places(coordinates: Float64Array, width: int) -> Float64Array:
    """Coordinates in cells of the smallest map that holds them, at most width - 1: (broker, 2)."""
    origin = coordinates.min(axis=0)
    extent = np.maximum(coordinates.max(axis=0) - origin, 1e-12)
    places: Float64Array = np.floor((coordinates - origin) / extent * width)
    return np.minimum(places, width - 1)


def _every_second_bit(codes: Int64Array) -> Int64Array:
    """The even bits of 32-bit codes, packed together."""
    bits = codes & 0x55555555
    for shift, mask in ((1, 0x33333333), (2, 0x0F0F0F0F), (4, 0x00FF00FF), (8, 0x0000FFFF)):
        bits = (bits | bits >> shift) & mask
    return bits
