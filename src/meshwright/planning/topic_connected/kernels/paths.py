"""Vertex-disjoint paths in the sub-overlay of a topic, by augmentation up to a limit.

Paths lead from a source to distinct terminals. A vertex is split in two, entered and left; a path
that enters a used vertex can only turn back along the path that uses it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.planning.topic_connected.kernels.membership import Membership

CLOSED, OPEN, TERMINAL = 0, 1, 2
NONE, SELF = -1, -2
USED_FROM, USED_TO, ENTERED_FROM, LEFT_FROM, ENTERED, LEFT, QUEUE, SETTLED = range(8)
NOTE_COUNT = 8
NUMBER, SETTLED_COUNT, SEARCHED_COUNT = range(3)


class Adjacency(NamedTuple):
    """Neighbours of each broker from starts[broker] on, as many as its degree; then spare room."""

    starts: Int64Array
    degrees: Int32Array
    targets: Int32Array


class Search(NamedTuple):
    """State of a search; few arrays, for every array of a tuple costs compile time.

    roles: CLOSED, OPEN or TERMINAL, set by whoever searches, (broker,). notes: the rows below,
    (row, broker). counts: of all searches, of terminals settled, of paths found by searching.
    USED_FROM and USED_TO: neighbours on the path found so far, NONE off the paths. ENTERED_FROM and
    LEFT_FROM: how a search came to enter and leave a vertex. ENTERED and LEFT: the last that did.
    QUEUE: vertices to go on from. SETTLED: terminals next to the source.
    """

    roles: NDArray[np.uint8]
    notes: Int32Array
    counts: Int32Array


@njit(cache=True)
def adjacency_of(links: Int32Array, broker_count: int, spare: int) -> Adjacency:
    """The neighbours of each broker in the order of the links, with spare room for more."""
    degrees = np.zeros(broker_count, dtype=np.int32)
    for index in range(len(links)):
        degrees[links[index, 0]] += 1
        degrees[links[index, 1]] += 1
    starts = np.zeros(broker_count + 1, dtype=np.int64)
    for broker in range(broker_count):
        starts[broker + 1] = starts[broker] + degrees[broker] + spare
        degrees[broker] = 0
    targets = np.empty(starts[broker_count], dtype=np.int32)
    for index in range(len(links)):
        left, right = links[index]
        targets[starts[left] + degrees[left]] = right
        targets[starts[right] + degrees[right]] = left
        degrees[left] += 1
        degrees[right] += 1
    return Adjacency(starts, degrees, targets)


@njit(cache=True)
def neighbours(adjacency: Adjacency, broker: int) -> Int32Array:
    """The neighbours of a broker, a view."""
    start = adjacency.starts[broker]
    cells: Int32Array = adjacency.targets[start : start + adjacency.degrees[broker]]
    return cells


@njit(cache=True)
def new_search(broker_count: int) -> Search:
    """A search in which every broker is closed."""
    notes = np.zeros((NOTE_COUNT, broker_count), dtype=np.int32)
    for broker in range(broker_count):
        notes[USED_FROM, broker] = NONE
        notes[USED_TO, broker] = NONE
    roles = np.zeros(broker_count, dtype=np.uint8)
    return Search(roles, notes, np.zeros(3, dtype=np.int32))


@njit(cache=True)
def set_topic_roles(search: Search, members: Membership, topic: int, role: int) -> None:
    """Give every member of a topic one role."""
    for slot in range(members.topic_offsets[topic], members.topic_offsets[topic + 1]):
        search.roles[members.slot_brokers[slot]] = role


@njit(cache=True)
def disjoint_paths(search: Search, adjacency: Adjacency, source: int, limit: int) -> int:
    """How many paths to distinct terminals share only the source; stops at the limit.

    Terminals next to the source are settled first, which is always right, and closed. If fewer than
    the limit are found, the last search shows a smallest cut: the settled terminals and what it
    ENTERED but not LEFT; what it LEFT is the source's side. `clear_paths` before the next question.
    """
    source_role = search.roles[source]
    search.roles[source] = CLOSED
    count = 0
    for neighbour in neighbours(adjacency, source):
        if search.roles[neighbour] == TERMINAL and count < limit:
            search.notes[SETTLED, count] = neighbour
            search.roles[neighbour] = CLOSED
            count += 1
    search.counts[SETTLED_COUNT] = count
    while count < limit:
        terminal = _reached_terminal(search, adjacency, source)
        if terminal == NONE:
            break
        _augment(search.notes, source, terminal)
        search.counts[SEARCHED_COUNT] += 1
        count += 1
    search.roles[source] = source_role
    return count


@njit(cache=True)
def clear_paths(search: Search, members: Membership, topic: int) -> None:
    """Forget the paths in a topic and open its settled terminals again."""
    for index in range(search.counts[SETTLED_COUNT]):
        search.roles[search.notes[SETTLED, index]] = TERMINAL
    if search.counts[SEARCHED_COUNT] == 0:
        return
    search.counts[SEARCHED_COUNT] = 0
    for slot in range(members.topic_offsets[topic], members.topic_offsets[topic + 1]):
        search.notes[USED_FROM, members.slot_brokers[slot]] = NONE
        search.notes[USED_TO, members.slot_brokers[slot]] = NONE


@njit(cache=True)
def _reached_terminal(search: Search, adjacency: Adjacency, source: int) -> int:
    """An unused terminal at the end of an augmenting path, or NONE."""
    roles, notes, counts = search
    counts[NUMBER] += 1
    number = counts[NUMBER]
    notes[LEFT, source] = number
    notes[QUEUE, 0] = source
    head, tail = 0, 1
    while head < tail:
        vertex = notes[QUEUE, head]
        head += 1
        for neighbour in neighbours(adjacency, vertex):
            if roles[neighbour] == CLOSED or notes[ENTERED, neighbour] == number:
                continue
            notes[ENTERED, neighbour] = number
            notes[ENTERED_FROM, neighbour] = vertex
            if notes[USED_FROM, neighbour] != NONE:
                tail = _queued_behind(notes, neighbour, number, tail)
            elif roles[neighbour] == TERMINAL:
                return int(neighbour)
            else:
                notes[LEFT, neighbour] = number
                notes[LEFT_FROM, neighbour] = neighbour
                notes[QUEUE, tail] = neighbour
                tail += 1
        if notes[USED_TO, vertex] != NONE and notes[ENTERED, vertex] != number:
            notes[ENTERED, vertex] = number
            notes[ENTERED_FROM, vertex] = SELF
            tail = _queued_behind(notes, vertex, number, tail)
    return NONE


@njit(cache=True)
def _queued_behind(notes: Int32Array, vertex: int, number: int, tail: int) -> int:
    """Queue the vertex before a used one on its path, unless it was left already; the new tail."""
    before = notes[USED_FROM, vertex]
    if notes[LEFT, before] == number:
        return tail
    notes[LEFT, before] = number
    notes[LEFT_FROM, before] = vertex
    notes[QUEUE, tail] = before
    return tail + 1


@njit(cache=True)
def _augment(notes: Int32Array, source: int, terminal: int) -> None:
    """Redraw the paths along the search that reached a terminal."""
    vertex = terminal
    while True:
        before = notes[ENTERED_FROM, vertex]
        if before == SELF:
            # The vertex was left backwards and entered from within: no path uses it any more.
            notes[USED_FROM, vertex] = NONE
            notes[USED_TO, vertex] = NONE
            vertex = notes[LEFT_FROM, vertex]
            continue
        notes[USED_FROM, vertex] = before
        if before == source:
            return
        notes[USED_TO, before] = vertex
        vertex = notes[LEFT_FROM, before]


@njit(cache=True)
def linked(adjacency: Adjacency, left: int, right: int) -> Adjacency:
    """The adjacency with one more link; written in place while there is room."""
    for broker in (left, right):
        if adjacency.starts[broker] + adjacency.degrees[broker] == adjacency.starts[broker + 1]:
            adjacency = _with_more_room(adjacency)
    for broker, other in ((left, right), (right, left)):
        adjacency.targets[adjacency.starts[broker] + adjacency.degrees[broker]] = other
        adjacency.degrees[broker] += 1
    return adjacency


@njit(cache=True)
def unlink(adjacency: Adjacency, left: int, right: int) -> None:
    """Take a link out, in place; the last neighbour takes the free cell."""
    for broker, other in ((left, right), (right, left)):
        cells = neighbours(adjacency, broker)
        for index in range(len(cells)):
            if cells[index] == other:
                cells[index] = cells[-1]
        adjacency.degrees[broker] -= 1


@njit(cache=True)
def _with_more_room(adjacency: Adjacency) -> Adjacency:
    starts = np.zeros(len(adjacency.starts), dtype=np.int64)
    for broker in range(len(adjacency.degrees)):
        starts[broker + 1] = starts[broker] + 2 * adjacency.degrees[broker] + 8
    targets = np.empty(starts[-1], dtype=np.int32)
    for broker in range(len(adjacency.degrees)):
        for index in range(adjacency.degrees[broker]):
            targets[starts[broker] + index] = adjacency.targets[adjacency.starts[broker] + index]
    return Adjacency(starts, adjacency.degrees, targets)
