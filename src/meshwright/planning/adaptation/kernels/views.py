"""A tree as one broker sees it: which neighbour leads where, and classes merged by neighbour."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.planning.adaptation.kernels.subtrees import ClassArrays


@njit(cache=True)
def branches(parents: Int32Array, master: int) -> Int32Array:
    """The neighbour of the master that leads to each vertex, the master for itself: (vertex,)."""
    found = np.full(len(parents), -1, dtype=np.int32)
    found[master] = master
    for start in range(len(parents)):
        vertex = start
        while found[vertex] < 0 and parents[vertex] != master and parents[vertex] != vertex:
            vertex = parents[vertex]
        if found[vertex] >= 0 and vertex != master:
            branch = found[vertex]
        elif parents[vertex] == master:
            branch = vertex
        else:
            branch = parents[master]
        vertex = start
        while found[vertex] < 0:
            found[vertex] = branch
            vertex = parents[vertex]
    return found


@njit(cache=True)
def project(classes: ClassArrays, labels: Int32Array) -> ClassArrays:
    """Classes with each member replaced by its label, ascending; equal ones are merged.

    Classes of fewer than two labels are left out. Rows keep the order of first appearance.
    """
    offsets = np.zeros(len(classes.messages) + 1, dtype=np.int64)
    members = np.empty(len(classes.members), dtype=np.int32)
    messages = np.zeros(len(classes.messages), dtype=np.int64)
    stamps = np.full(labels.max() + 1, -1, dtype=np.int64)
    slots = np.full(_table_size(len(classes.messages)), -1, dtype=np.int64)
    count = 0
    for row in range(len(classes.messages)):
        start = offsets[count]
        stop = start
        for pair in range(classes.offsets[row], classes.offsets[row + 1]):
            label = labels[classes.members[pair]]
            if stamps[label] != row:
                stamps[label] = row
                members[stop] = label
                stop += 1
        if stop - start < 2:
            continue
        members[start:stop].sort()
        offsets[count + 1] = stop
        place = _find_row(offsets, members, slots, count)
        if place == count:
            count += 1
        messages[place] += classes.messages[row]
    return ClassArrays(
        offsets[: count + 1].copy(), members[: offsets[count]].copy(), messages[:count].copy()
    )


@njit(cache=True)
def _find_row(offsets: Int64Array, members: Int32Array, slots: Int64Array, row: int) -> int:
    """The earlier row equal to this one, or this row, which is then remembered in its slot."""
    wanted = members[offsets[row] : offsets[row + 1]]
    mixed = np.uint64(len(wanted))
    for member in wanted:
        mixed = (mixed ^ np.uint64(member)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed & np.uint64(len(slots) - 1))
    while slots[slot] >= 0:
        known = int(slots[slot])
        if _is_equal(members[offsets[known] : offsets[known + 1]], wanted):
            return known
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = row
    return row


@njit(cache=True)
def _is_equal(one: Int32Array, other: Int32Array) -> bool:
    if len(one) != len(other):
        return False
    same = True
    for index in range(len(one)):
        same &= one[index] == other[index]
    return same


@njit(cache=True)
def _table_size(row_count: int) -> int:
    """A power of two that leaves half of the slots free."""
    size = 2
    while size < 2 * row_count:
        size *= 2
    return size
