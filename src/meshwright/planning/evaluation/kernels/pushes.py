"""Breadth-first pushes inside the graphs of topics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array


class Rows(NamedTuple):
    """Row r holds columns[offsets[r]:offsets[r + 1]]: neighbours of brokers, members of topics."""

    offsets: Int64Array
    columns: Int32Array


class Pushes(NamedTuple):
    """Pushes from every member of every topic: (pair,) each, but for loads: (broker,).

    degrees: links of the member to others of the topic.
    reached: members that get it, the source among them. hop_sums, ms_sums, hops_max: over those.
    loads: messages sent and received, times the weight of their source.
    """

    degrees: Int64Array
    reached: Int64Array
    hop_sums: Int64Array
    hops_max: Int64Array
    ms_sums: Float64Array
    loads: Float64Array


@njit(cache=True)
def topic_graph(graph: Rows, members: Int32Array, ranks: Int32Array) -> Rows:
    """The graph among a topic's members, numbered in their order; ranks: all -1, and so left."""
    for rank in range(len(members)):
        ranks[members[rank]] = rank
    offsets = np.zeros(len(members) + 1, dtype=np.int64)
    room = 0
    for member in members:
        room += graph.offsets[member + 1] - graph.offsets[member]
    columns = np.empty(room, dtype=np.int32)
    filled = 0
    for rank in range(len(members)):
        member = members[rank]
        for place in range(graph.offsets[member], graph.offsets[member + 1]):
            neighbour = ranks[graph.columns[place]]
            if neighbour >= 0:
                columns[filled] = neighbour
                filled += 1
        offsets[rank + 1] = filled
    for member in members:
        ranks[member] = -1
    return Rows(offsets, columns[:filled])


@njit(cache=True)
def push(graph: Rows, source: int) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Who is reached, in order; and parents and hops of each vertex, -1 where not reached.

    Neighbours are taken in ascending order. Ends as soon as everybody is reached.
    """
    vertex_count = len(graph.offsets) - 1
    parents = np.full(vertex_count, -1, dtype=np.int32)
    hops = np.full(vertex_count, -1, dtype=np.int32)
    order = np.empty(vertex_count, dtype=np.int32)
    order[0] = source
    parents[source] = source
    hops[source] = 0
    first, last = 0, 1
    while first < last and last < vertex_count:
        here = order[first]
        first += 1
        for place in range(graph.offsets[here], graph.offsets[here + 1]):
            target = graph.columns[place]
            if hops[target] < 0:
                hops[target] = hops[here] + 1
                parents[target] = here
                order[last] = target
                last += 1
    return order[:last], parents, hops


@njit(cache=True)
def push_from_all(
    graph: Rows, members: Rows, weights: Float64Array, delays_ms: Float64Array
) -> Pushes:
    """A push from each member of each topic; weights: (pair,); delays_ms: empty if unknown."""
    pair_count = len(members.columns)
    degrees = np.zeros(pair_count, dtype=np.int64)
    reached = np.zeros(pair_count, dtype=np.int64)
    hop_sums = np.zeros(pair_count, dtype=np.int64)
    hops_max = np.zeros(pair_count, dtype=np.int64)
    ms_sums = np.zeros(pair_count, dtype=np.float64)
    loads = np.zeros(len(graph.offsets) - 1, dtype=np.float64)
    ranks = np.full(len(graph.offsets) - 1, -1, dtype=np.int32)
    for topic in range(len(members.offsets) - 1):
        start, stop = members.offsets[topic], members.offsets[topic + 1]
        wanted = members.columns[start:stop]
        inner = topic_graph(graph, wanted, ranks)
        arrivals_ms = np.zeros(len(wanted), dtype=np.float64)
        for source in range(len(wanted)):
            pair = start + source
            order, parents, hops = push(inner, source)
            degrees[pair] = inner.offsets[source + 1] - inner.offsets[source]
            reached[pair] = len(order)
            hops_max[pair] = hops[order[-1]]
            arrivals_ms[source] = 0.0
            for target in order[1:]:
                sender = parents[target]
                hop_sums[pair] += hops[target]
                loads[wanted[target]] += weights[pair]
                loads[wanted[sender]] += weights[pair]
                if delays_ms.size:
                    hop_ms = delays_ms[wanted[sender], wanted[target]]
                    arrivals_ms[target] = arrivals_ms[sender] + hop_ms
                    ms_sums[pair] += arrivals_ms[target]
    return Pushes(degrees, reached, hop_sums, hops_max, ms_sums, loads)
