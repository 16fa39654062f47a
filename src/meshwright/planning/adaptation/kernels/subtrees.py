"""The minimal subtree of a traffic class in a rooted tree, and what it costs [OCBR, eq. 1].

Every vertex on the way from a member to the root counts the members below it. A link is in the
minimal subtree iff some but not all members are below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array


class ClassArrays(NamedTuple):
    """Traffic classes in compressed rows: offsets (class + 1,), members (pair,), messages."""

    offsets: Int64Array
    members: Int32Array
    messages: Int64Array


class PriceArrays(NamedTuple):
    """What a message pays: links (vertex, broker), or (1, 1) where all cost the same.

    brokers: (vertex,), 0 for a client. vertices: row of `links` for each vertex of the tree,
    (vertex,).
    """

    links: Int64Array
    brokers: Int64Array
    vertices: Int32Array


class Counters(NamedTuple):
    """Scratch space for one class: members below a vertex, and the vertices touched.

    below: 0 between uses, (vertex,). touched: (vertex,).
    """

    below: Int32Array
    touched: Int32Array


@njit(cache=True)
def fresh_counters(vertex_count: int) -> Counters:
    """Scratch space for a tree of vertex_count vertices."""
    return Counters(np.zeros(vertex_count, dtype=np.int32), np.empty(vertex_count, dtype=np.int32))


@njit(cache=True)
def link_price(prices: PriceArrays, one: int, other: int) -> int:
    """Price of a link; at least one end is a broker, and brokers come before clients."""
    if prices.links.shape[0] == 1:
        return int(prices.links[0, 0])
    low, high = min(one, other), max(one, other)
    return int(prices.links[prices.vertices[high], prices.vertices[low]])


@njit(cache=True)
def class_price(
    members: Int32Array, parents: Int32Array, prices: PriceArrays, counters: Counters
) -> int:
    """Price of one message of a class; 0 for a single member."""
    if len(members) < 2:
        return 0
    touched_count = count_below(members, parents, counters)
    price = int(prices.brokers[top_of(members, parents, counters)])
    for index in range(touched_count):
        vertex = counters.touched[index]
        if counters.below[vertex] < len(members):
            price += int(prices.brokers[vertex]) + link_price(prices, vertex, parents[vertex])
        counters.below[vertex] = 0
    return price


@njit(cache=True)
def class_prices(classes: ClassArrays, parents: Int32Array, prices: PriceArrays) -> Int64Array:
    """Price of one message of every class: (class,)."""
    counters = fresh_counters(len(parents))
    found = np.empty(len(classes.messages), dtype=np.int64)
    for row in range(len(found)):
        members = classes.members[classes.offsets[row] : classes.offsets[row + 1]]
        found[row] = class_price(members, parents, prices, counters)
    return found


@njit(cache=True)
def class_shapes(classes: ClassArrays, parents: Int32Array) -> Int64Array:
    """Vertices of the minimal subtree, and hops summed over pairs of members: (class, 2)."""
    counters = fresh_counters(len(parents))
    shapes = np.zeros((len(classes.messages), 2), dtype=np.int64)
    for row in range(len(shapes)):
        members = classes.members[classes.offsets[row] : classes.offsets[row + 1]]
        shapes[row, 0] = min(len(members), 1)
        for index in range(count_below(members, parents, counters)):
            vertex = counters.touched[index]
            below = counters.below[vertex]
            if below < len(members):
                shapes[row, 0] += 1
                shapes[row, 1] += below * (len(members) - below)
            counters.below[vertex] = 0
    return shapes


@njit(cache=True)
def count_below(members: Int32Array, parents: Int32Array, counters: Counters) -> int:
    """Count the members below each vertex on the ways to the root; returns how many it met."""
    touched_count = 0
    for member in members:
        vertex = member
        while True:
            if counters.below[vertex] == 0:
                counters.touched[touched_count] = vertex
                touched_count += 1
            counters.below[vertex] += 1
            if parents[vertex] == vertex:
                break
            vertex = parents[vertex]
    return touched_count


@njit(cache=True)
def top_of(members: Int32Array, parents: Int32Array, counters: Counters) -> int:
    """The vertex of the minimal subtree nearest to the root."""
    vertex = int(members[0])
    while counters.below[vertex] < len(members):
        vertex = int(parents[vertex])
    return vertex
