"""Every tree over a neighbourhood, from its Prüfer sequence."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array
from meshwright.planning.adaptation.kernels.subtrees import (
    ClassArrays,
    Counters,
    PriceArrays,
    class_price,
    fresh_counters,
)


@njit(cache=True)
def best_of_all_trees(
    classes: ClassArrays, prices: PriceArrays, start: Int32Array, rooms: Int32Array
) -> Int32Array:
    """Parents of a cheapest tree rooted at vertex 0; `start` if nothing is cheaper: (vertex,).

    rooms: links to other brokers that a broker may have, (broker,). The other vertices are clients:
    leaves of any broker. Ties go to the first code.
    """
    broker_count = len(rooms)
    counters = fresh_counters(len(start))
    best = start.copy()
    best_cost = tree_cost_within(classes, prices, counters, best, np.iinfo(np.int64).max)
    tree_count = broker_count ** max(broker_count - 2, 0)
    attachment_count = broker_count ** (len(start) - broker_count)
    parents = start.copy()
    for code in range(tree_count):
        write_tree(code, broker_count, parents)
        if not _has_room(parents, rooms):
            continue
        for attachment in range(attachment_count):
            digits = attachment
            for client in range(broker_count, len(start)):
                parents[client] = digits % broker_count
                digits //= broker_count
            cost = tree_cost_within(classes, prices, counters, parents, best_cost)
            if cost < best_cost:
                best_cost = cost
                best[:] = parents
    return best


@njit(cache=True)
def write_tree(code: int, broker_count: int, parents: Int32Array) -> None:
    """Write the parents of the code-th tree over the brokers, rooted at broker 0.

    The code's digits are a Prüfer sequence. The highest leaf goes first, so broker 0 is never
    taken off and each leaf's only neighbour is its parent.
    """
    sequence = np.empty(max(broker_count - 2, 0), dtype=np.int32)
    degrees = np.ones(broker_count, dtype=np.int32)
    for index in range(len(sequence)):
        sequence[index] = code % broker_count
        degrees[sequence[index]] += 1
        code //= broker_count
    parents[0] = 0
    for index in range(broker_count - 1):
        leaf = broker_count - 1
        while degrees[leaf] != 1:
            leaf -= 1
        parent = sequence[index] if index < len(sequence) else np.int32(0)
        parents[leaf] = parent
        degrees[leaf] = 0
        degrees[parent] -= 1


@njit(cache=True)
def _has_room(parents: Int32Array, rooms: Int32Array) -> bool:
    left = rooms.copy()
    for broker in range(1, len(rooms)):
        left[broker] -= 1
        left[parents[broker]] -= 1
    return bool(left.min() >= 0)


@njit(cache=True)
def tree_cost_within(
    classes: ClassArrays,
    prices: PriceArrays,
    counters: Counters,
    parents: Int32Array,
    limit: int,
) -> int:
    """Cost of all messages, or the limit as soon as it is reached."""
    cost = 0
    for row in range(len(classes.messages)):
        members = classes.members[classes.offsets[row] : classes.offsets[row + 1]]
        price = class_price(members, parents, prices, counters)
        cost += classes.messages[row] * price
        if cost >= limit:
            return limit
    return cost
