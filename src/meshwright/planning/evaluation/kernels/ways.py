"""Ways of publications to the nearest member of their topic, from any broker.

The way between two brokers is the same for every topic: breadth-first search is done once for each
broker, and what is left for a topic is to choose the member. So loads are added up between pairs of
brokers, and put on the links once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.evaluation.kernels.pushes import Rows

FAR = np.int32(2**30)


class Ways(NamedTuple):
    """The shortest ways between any two brokers, (end, start) each; the lowest of equal ones.

    hops: FAR where there is none; there a broker is dialled directly. next_hops: the next broker on
    the way, the end where there is none. ms: the delays of all its hops, empty if unknown.
    outwards: starts in the order of their hops, those without a way last.
    """

    hops: Int32Array
    next_hops: Int32Array
    ms: Float64Array
    outwards: Int32Array


class Entering(NamedTuple):
    """What members hand on that entered elsewhere or at themselves, over all publishers.

    amounts, hops, ms: publishers, their hops and delays, (pair,). entry_hops: (topic,).
    loads: messages sent and received on the way, (broker,).
    """

    amounts: Float64Array
    hops: Float64Array
    ms: Float64Array
    entry_hops: Float64Array
    loads: Float64Array


@njit(cache=True)
def ways_between(graph: Rows, delays_ms: Float64Array) -> Ways:
    """All ways; delays_ms: (from, to), empty if unknown."""
    broker_count = len(graph.offsets) - 1
    shape = (broker_count, broker_count)
    hops = np.full(shape, FAR, dtype=np.int32)
    next_hops = np.empty(shape, dtype=np.int32)
    ms = np.zeros(shape if delays_ms.size else (0, 0), dtype=np.float64)
    outwards = np.empty(shape, dtype=np.int32)
    for end in range(broker_count):
        next_hops[end] = end
        last = _spread(graph, end, hops[end], next_hops[end], outwards[end])
        for start in range(broker_count):
            if hops[end, start] == FAR:
                outwards[end, last] = start
                last += 1
        if delays_ms.size:
            for start in outwards[end, 1:]:
                following = next_hops[end, start]
                ms[end, start] = delays_ms[start, following] + ms[end, following]
    return Ways(hops, next_hops, ms, outwards)


@njit(cache=True)
def _spread(
    graph: Rows, end: int, hops: Int32Array, next_hops: Int32Array, order: Int32Array
) -> int:
    """Ways to one broker, from there outwards; how many have one."""
    hops[end] = 0
    order[0] = end
    first, last = 0, 1
    while first < last:
        here = order[first]
        first += 1
        for place in range(graph.offsets[here], graph.offsets[here + 1]):
            broker = graph.columns[place]
            if hops[broker] == FAR:
                hops[broker] = hops[here] + 1
                next_hops[broker] = here
                order[last] = broker
                last += 1
            elif hops[broker] == hops[here] + 1 and here < next_hops[broker]:
                next_hops[broker] = here
    return last


@njit(cache=True)
def nearest(ways: Ways, members: Int32Array, ranks: Int32Array, hops: Int32Array) -> None:
    """The nearest member of every broker, by its rank, ties to the lowest, and the hops to it.

    Where no member can be reached, the lowest is dialled directly: one hop. ranks, hops: (broker,),
    are filled.
    """
    ranks[:] = 0
    hops[:] = ways.hops[members[0]]
    for rank in range(1, len(members)):
        others = ways.hops[members[rank]]
        for broker in range(len(hops)):
            if others[broker] < hops[broker]:
                hops[broker] = others[broker]
                ranks[broker] = rank
    for broker in range(len(hops)):
        if hops[broker] == FAR:
            hops[broker] = 1


@njit(cache=True)
def entering_at_members(
    ways: Ways, members: Rows, publications: Float64Array, weights: Float64Array
) -> Entering:
    """Every broker's publications at their nearest member.

    publications: (topic,). weights: how often a publisher counts, (broker, topic), empty if each
    counts once.
    """
    topic_count, broker_count = len(members.offsets) - 1, len(ways.hops)
    amounts, hops, ms = np.zeros((3, len(members.columns)), dtype=np.float64)
    entry_hops = np.zeros(topic_count, dtype=np.float64)
    sent = np.zeros((broker_count, broker_count), dtype=np.float64)
    ranks, distances = np.empty((2, broker_count), dtype=np.int32)
    for topic in range(topic_count):
        first, stop = members.offsets[topic], members.offsets[topic + 1]
        if first == stop:
            continue
        wanted = members.columns[first:stop]
        nearest(ways, wanted, ranks, distances)
        for broker in range(broker_count):
            amount = weights[broker, topic] if weights.size else 1.0
            pair = first + ranks[broker]
            amounts[pair] += amount
            if distances[broker]:
                end = wanted[ranks[broker]]
                hops[pair] += amount * distances[broker]
                entry_hops[topic] += amount * distances[broker]
                sent[end, broker] += amount * publications[topic]
                if ways.ms.size:
                    ms[pair] += amount * ways.ms[end, broker]
    return Entering(amounts, hops, ms, entry_hops, _loads(ways, sent))


@njit(cache=True)
def _loads(ways: Ways, sent: Float64Array) -> Float64Array:
    """Messages sent and received by brokers on the ways between them; sent: (end, start), used up.

    From the farthest broker inwards: each hands on what was sent to it as well.
    """
    loads = np.zeros(len(sent), dtype=np.float64)
    for end in range(len(sent)):
        for start in ways.outwards[end, :0:-1]:
            amount = sent[end, start]
            following = ways.next_hops[end, start]
            loads[start] += amount
            loads[following] += amount
            if following != end:
                sent[end, following] += amount
    return loads
