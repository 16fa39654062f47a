"""A quadtree of square cells with one broker a cell, the overlay of GeoPS as reconstructed.

An identifier is a Morton code on 32 bits: 16 base-4 digits that halve the map in both directions,
most significant first. On the usual map of 32 x 32 cells only the first five differ. A position
knows one position in each of the three sibling quadrants of each level, the nearest on the map to
its own place in that quadrant. A key is looked up like an identifier, and where a cell is empty the
next occupied quadrant, modulo four, stands in. On a map, the key of a topic cell/N/E is that cell,
so its root is the broker there; any other topic's is the hash of its name. Members join along their
routes to the root. [DYNATOPS, 1.7]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from meshwright.errors import CallerError
from meshwright.model.identifiers import KEY_BITS, topic_key
from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.overlay import Parameter
from meshwright.model.snapshot import Float64Array
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_space import checked_identifiers, even_identifiers
from meshwright.overlays.prefixes import PrefixRouting
from meshwright.overlays.routes import geometry_from_hops, walk

DIGIT_BITS = 2
DEPTH_USUAL = 5
DEPTH_MAX = KEY_BITS // DIGIT_BITS
CELL_TOPIC = re.compile(r"cell/(-?\d{1,9})/(-?\d{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Where cells are: the places of the outermost brokers, in degrees, and levels of halving.

    cell_degrees: the side of the cells that topics are named after.
    """

    south: float
    west: float
    north: float
    east: float
    depth: int
    cell_degrees: float = 1.0

    def identifiers(self, coordinates: Float64Array) -> Int64Array:
        """The cells of places, latitude and longitude in degrees, (place, 2): (place,)."""
        places = self.places(coordinates)
        return identifiers_of_cells(places[:, 1], places[:, 0], self.depth)

    def places(self, coordinates: Float64Array) -> Int64Array:
        """Row and column of places; those beyond the edge are at the edge: (place, 2)."""
        origin = np.array([self.south, self.west])
        extent = np.maximum(np.array([self.north, self.east]) - origin, 1e-12)
        width = 1 << self.depth
        places = np.floor((coordinates - origin) / extent * width)
        cells: Int64Array = np.clip(places, 0, width - 1).astype(np.int64)
        return cells


def quadtree(
    position_count: int,
    *,
    identifiers: Int64Array | None = None,
    south: float | None = None,
    west: float | None = None,
    north: float | None = None,
    east: float | None = None,
    depth: int | None = None,
    cell_degrees: float | None = None,
) -> KeyGeometry:
    """The quadtree as arrays; brokers spread evenly over the cells unless identifiers are given.

    The rest is the map that identifiers are cells of, if there is one.
    """
    if identifiers is None:
        cell_bits = KEY_BITS - DIGIT_BITS * depth_for(position_count)
        identifiers = even_identifiers(position_count) >> cell_bits << cell_bits
    positions = checked_identifiers(position_count, identifiers)
    next_hops = _routing(positions).next_hops()
    # Every neighbour is the next hop towards itself, so the next hops name all neighbours.
    drawn: dict[str, Parameter] = {
        "south": south, "west": west, "north": north, "east": east, "depth": depth,
        "cell_degrees": cell_degrees,
    }  # fmt: skip
    params = {name: value for name, value in drawn.items() if value is not None}
    return geometry_from_hops(
        "quadtree", "member_to_root", positions, next_hops, next_hops, params=params
    )


def topic_keys(params: Mapping[str, Parameter], topics: Sequence[str]) -> Int64Array:
    """The cells of topics that are named after one, if there is a map; else hashes: (topic,)."""
    keys = np.array([topic_key(topic) for topic in topics], dtype=np.int64)
    if "south" in params:
        found = [(number, CELL_TOPIC.fullmatch(topic)) for number, topic in enumerate(topics)]
        named = [(number, match) for number, match in found if match is not None]
        drawn = msgspec.convert(dict(params), Map)
        corners = np.array([[int(match[1]), int(match[2])] for _, match in named], dtype=np.float64)
        middles = (corners.reshape(-1, 2) + 0.5) * drawn.cell_degrees
        keys[[number for number, _ in named]] = drawn.identifiers(middles)
    return keys


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


def drawn_map(coordinates: Float64Array, *, cell_degrees: float = 1.0) -> Map:
    """The map that just holds all brokers, with cells so small that each has one of its own.

    coordinates: latitude and longitude in degrees, (broker, 2). Brokers at one place share a cell
    even on the finest map; then it has as many cells as brokers need.
    """
    if len(coordinates) == 0 or not bool(np.all(np.isfinite(coordinates))):
        raise CallerError("Coordinates must be a finite latitude and longitude for each broker.")
    (south, west), (north, east) = coordinates.min(axis=0), coordinates.max(axis=0)
    shape = {"south": float(south), "west": float(west), "north": float(north), "east": float(east)}
    least = depth_for(len(coordinates))
    for depth in range(least, DEPTH_MAX + 1):
        drawn = Map(**shape, depth=depth, cell_degrees=cell_degrees)
        if len(np.unique(drawn.identifiers(coordinates))) == len(coordinates):
            return drawn
    return Map(**shape, depth=least, cell_degrees=cell_degrees)


def identifiers_on_map(drawn: Map, coordinates: Float64Array) -> Int64Array:
    """Distinct cells for brokers: (broker,), in broker order.

    A broker whose cell is taken by an earlier one gets the nearest free cell; that costs brokers
    times cells.
    """
    identifiers = drawn.identifiers(coordinates)
    if len(np.unique(identifiers)) == len(identifiers):
        return identifiers
    width = 1 << drawn.depth
    rows, columns = np.indices((width, width))
    is_free = np.ones((width, width), dtype=np.bool_)
    chosen = np.zeros((2, len(coordinates)), dtype=np.int64)
    for broker, (row, column) in enumerate(drawn.places(coordinates)):
        distances = np.where(is_free, (rows - row) ** 2 + (columns - column) ** 2, np.inf)
        chosen[:, broker] = np.unravel_index(np.argmin(distances), distances.shape)
        is_free[tuple(chosen[:, broker])] = False
    return identifiers_of_cells(chosen[1], chosen[0], drawn.depth)


def _routing(identifiers: Int64Array) -> PrefixRouting:
    return PrefixRouting(identifiers, DIGIT_BITS, _map_distance)


def _map_distance(first: Int64Array, second: Int64Array) -> Int64Array:
    """Squared distance of two cells on the finest map."""
    first_columns, first_rows = columns_and_rows(first)
    second_columns, second_rows = columns_and_rows(second)
    return (first_columns - second_columns) ** 2 + (first_rows - second_rows) ** 2


def _every_second_bit(codes: Int64Array) -> Int64Array:
    """The even bits of 32-bit codes, packed together."""
    bits = codes & 0x55555555
    for shift, mask in ((1, 0x33333333), (2, 0x0F0F0F0F), (4, 0x00FF00FF), (8, 0x0000FFFF)):
        bits = (bits | bits >> shift) & mask
    return bits
