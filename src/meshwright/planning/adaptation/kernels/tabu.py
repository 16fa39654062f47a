"""Tabu search over the trees of a neighbourhood [OCBR, Fig. 3, with the errata of our notes].

A move adds the link (moved, target) and drops the link above `cut`, a vertex between `moved` and
the root: the part of the tree below `cut` is hung under `target` by `moved`. Trees are parents
rooted at vertex 0, the master; brokers come first, then clients, which stay leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array, Int64Array
from meshwright.planning.adaptation.kernels.subtrees import (
    ClassArrays,
    Counters,
    PriceArrays,
    class_price,
    class_prices,
    fresh_counters,
)


class Limits(NamedTuple):
    """Size of the search: iterations, moves tried in each, iterations for which a link is tabu.

    rooms: links to other brokers that a broker may have, (broker,); the other vertices are clients.
    """

    rooms: Int32Array
    iteration_count: int
    moves_max: int
    tenure: int


class State(NamedTuple):
    """The search so far; arrays are written in place.

    parents: the current tree, (vertex,). rooms: links a broker may still get, (broker,).
    costs: of all messages of a class, (class,).
    row_offsets, rows: classes of each vertex, compressed. added, removed: the links of the last
    iterations, lower end first, -1 where there was no move, (tenure, 2).
    affected: scratch, (class,). seen: False between uses, (class,).
    """

    parents: Int32Array
    rooms: Int32Array
    costs: Int64Array
    row_offsets: Int64Array
    rows: Int32Array
    added: Int32Array
    removed: Int32Array
    affected: Int32Array
    seen: BoolArray


@njit(cache=True)
def tabu_search(
    classes: ClassArrays, prices: PriceArrays, limits: Limits, draws: Int64Array
) -> Int32Array:
    """Parents of the cheapest tree met, starting from the star around vertex 0: (vertex,).

    draws: random numbers, (iteration, draw); an iteration draws links only where more than
    moves_max are absent, else it tries them all in order.
    """
    counters = fresh_counters(len(prices.vertices))
    state = _start(classes, prices, limits)
    best = state.parents.copy()
    excess, excess_best = 0, 0
    for iteration in range(limits.iteration_count):
        pairs = _absent_links(state.parents, limits, draws[iteration])
        _, moved, target, cut = _best_move(pairs, state, (classes, prices, counters))
        place = iteration % limits.tenure
        _write_link(state.added, place, -1, -1)
        _write_link(state.removed, place, -1, -1)
        if cut < 0:
            continue
        _write_link(state.added, place, moved, target)
        above = int(state.parents[cut])
        _write_link(state.removed, place, cut, above)
        _fill(state.rooms, moved, target, -1)
        _fill(state.rooms, cut, above, 1)
        excess += _change(state, (moved, target, cut), (classes, prices, counters), True)
        if excess < excess_best:
            excess_best = excess
            best[:] = state.parents
    return best


@njit(cache=True)
def hang(parents: Int32Array, moved: int, target: int, cut: int) -> None:
    """Hang the part below `cut` under `target` by its vertex `moved`, in place."""
    vertex, above = moved, target
    while True:
        following = parents[vertex]
        parents[vertex] = above
        if vertex == cut:
            return
        vertex, above = following, vertex


@njit(cache=True)
def _start(classes: ClassArrays, prices: PriceArrays, limits: Limits) -> State:
    vertex_count, row_count = len(prices.vertices), len(classes.messages)
    parents = np.zeros(vertex_count, dtype=np.int32)
    rooms = limits.rooms - np.int32(1)
    rooms[0] -= len(rooms) - 2
    costs = class_prices(classes, parents, prices) * classes.messages
    row_offsets = np.zeros(vertex_count + 1, dtype=np.int64)
    for member in classes.members:
        row_offsets[member + 1] += 1
    row_offsets = np.cumsum(row_offsets)
    rows = np.empty(len(classes.members), dtype=np.int32)
    free = row_offsets.copy()
    for row in range(row_count):
        for member in classes.members[classes.offsets[row] : classes.offsets[row + 1]]:
            rows[free[member]] = row
            free[member] += 1
    return State(
        parents,
        rooms,
        costs,
        row_offsets,
        rows,
        np.full((limits.tenure, 2), -1, dtype=np.int32),
        np.full((limits.tenure, 2), -1, dtype=np.int32),
        np.empty(row_count, dtype=np.int32),
        np.zeros(row_count, dtype=np.bool_),
    )


@njit(cache=True)
def _absent_links(parents: Int32Array, limits: Limits, draws: Int64Array) -> Int32Array:
    """Links to try, lower end first, without repetition: (link, 2)."""
    brokers, vertices = len(limits.rooms), len(parents)
    clients = vertices - brokers
    absent_count = (brokers - 1) * (brokers - 2) // 2 + clients * (brokers - 1)
    pairs = np.empty((min(limits.moves_max, absent_count), 2), dtype=np.int32)
    count = 0
    if absent_count <= limits.moves_max:
        for low in range(brokers):
            for high in range(low + 1, vertices):
                if parents[low] != high and parents[high] != low:
                    _write_link(pairs, count, low, high)
                    count += 1
        return pairs
    for draw in draws:
        one, other = int(draw % brokers), int(draw // brokers % vertices)
        low, high = min(one, other), max(one, other)
        if low == high or parents[low] == high or parents[high] == low:
            continue
        if _holds(pairs[:count], low, high):
            continue
        _write_link(pairs, count, low, high)
        count += 1
        if count == len(pairs):
            break
    return pairs[:count]


@njit(cache=True)
def _best_move(
    pairs: Int32Array,
    state: State,
    demand: tuple[ClassArrays, PriceArrays, Counters],
) -> tuple[int, int, int, int]:
    """Cheapest move (change of cost, moved, target, cut) that adds one of the links; cut -1: none.

    A client's link replaces its old one, whatever the cycle.
    """
    best = (0, -1, -1, -1)
    for index in range(len(pairs)):
        low, high = int(pairs[index, 0]), int(pairs[index, 1])
        if _holds(state.removed, low, high):
            continue
        is_client = high >= len(state.rooms)
        meeting = _meeting(state.parents, low, high)
        for moved, target in ((low, high), (high, low)):
            if is_client and moved == low:
                continue
            cut = moved
            while cut != meeting:
                above = int(state.parents[cut])
                if not _holds(state.added, cut, above) and (
                    is_client or _has_room(state.rooms, (moved, target), (cut, above))
                ):
                    delta = _change(state, (moved, target, cut), demand, False)
                    if best[3] < 0 or delta < best[0]:
                        best = (delta, moved, target, cut)
                if is_client:
                    break
                cut = above
    return best


@njit(cache=True)
def _change(
    state: State,
    move: tuple[int, int, int],
    demand: tuple[ClassArrays, PriceArrays, Counters],
    is_kept: bool,
) -> int:
    """Change of cost by a move, which is taken back unless it is to be kept."""
    classes, prices, counters = demand
    moved, target, cut = move
    above = int(state.parents[cut])
    affected_count = _find_affected(state, cut)
    hang(state.parents, moved, target, cut)
    change = 0
    for index in range(affected_count):
        row = state.affected[index]
        members = classes.members[classes.offsets[row] : classes.offsets[row + 1]]
        cost = class_price(members, state.parents, prices, counters) * classes.messages[row]
        change += cost - state.costs[row]
        if is_kept:
            state.costs[row] = cost
    if not is_kept:
        hang(state.parents, cut, above, moved)
    return change


@njit(cache=True)
def _find_affected(state: State, cut: int) -> int:
    """List the classes with members below the cut: only their subtrees can change."""
    count = 0
    for vertex in range(len(state.parents)):
        above = vertex
        while above != cut and above != 0:
            above = state.parents[above]
        if above != cut:
            continue
        for index in range(state.row_offsets[vertex], state.row_offsets[vertex + 1]):
            row = state.rows[index]
            if not state.seen[row]:
                state.seen[row] = True
                state.affected[count] = row
                count += 1
    for index in range(count):
        state.seen[state.affected[index]] = False
    return count


@njit(cache=True)
def _has_room(rooms: Int32Array, added: tuple[int, int], removed: tuple[int, int]) -> bool:
    """Whether both ends of a new link have room for it, once another link is gone."""
    enough = True
    for broker in added:
        freed = broker in removed
        enough &= rooms[broker] + freed > 0
    return enough


@njit(cache=True)
def _fill(rooms: Int32Array, one: int, other: int, change: int) -> None:
    """Give or take room at both ends of a link; a client's link takes none."""
    if max(one, other) < len(rooms):
        rooms[one] += change
        rooms[other] += change


@njit(cache=True)
def _meeting(parents: Int32Array, one: int, other: int) -> int:
    """The lowest common ancestor of two vertices."""
    depth_one, depth_other = _depth(parents, one), _depth(parents, other)
    while one != other:
        if depth_one >= depth_other:
            one = parents[one]
            depth_one -= 1
        else:
            other = parents[other]
            depth_other -= 1
    return one


@njit(cache=True)
def _depth(parents: Int32Array, vertex: int) -> int:
    depth = 0
    while vertex != 0:
        vertex = parents[vertex]
        depth += 1
    return depth


@njit(cache=True)
def _write_link(links: Int32Array, place: int, one: int, other: int) -> None:
    links[place, 0] = min(one, other)
    links[place, 1] = max(one, other)


@njit(cache=True)
def _holds(links: Int32Array, one: int, other: int) -> bool:
    low, high = min(one, other), max(one, other)
    found = False
    for index in range(len(links)):
        found |= links[index, 0] == low and links[index, 1] == high
    return found
