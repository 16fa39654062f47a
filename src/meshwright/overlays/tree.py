"""An explicit tree of brokers: one way between any two, hung from a root.

Messages climb towards the root and descend where they are wanted; there are no keys here.
[mobility, 4.1; OCBR, 5.1]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import BoolArray, Int32Array
from meshwright.model.wording import counted
from meshwright.overlays.graph import Graph, components, graph

FANOUT = 4


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A spanning tree of all brokers.

    joined: who is neighbour of whom. parents: (broker,), the root's is itself. depths: hops from
    the root, (broker,). order: brokers from the root down, level by level, (broker,).
    """

    joined: Graph
    root: int
    parents: Int32Array
    depths: Int32Array
    order: Int32Array

    def __post_init__(self) -> None:
        for array in (self.parents, self.depths, self.order):
            array.setflags(write=False)

    @property
    def broker_count(self) -> int:
        return len(self.parents)


def tree(broker_count: int, links: NDArray[np.integer], *, root: int = 0) -> Tree:
    """The tree of unordered links hung from a root, once it is found to be one: links (link, 2)."""
    joined = graph(broker_count, links)
    if not 0 <= root < broker_count:
        raise CallerError(f"The root must be a broker from 0 to {broker_count - 1}, not {root}.")
    labels = components(joined)
    if bool(np.any(labels)):
        lost = int(np.argmax(labels != labels[root]))
        raise ProblemError(
            f"The links do not join all brokers: there is no way from broker {root} to broker "
            f"{lost}; add a link."
        )
    link_count = len(joined.neighbours) // 2
    if link_count != broker_count - 1:
        raise ProblemError(
            f"The links close a cycle: {counted(broker_count, 'broker')} need "
            f"{counted(broker_count - 1, 'link')}, not "
            f"{link_count}; remove one on each cycle."
        )
    return _hang(joined, root)


def regular_tree(broker_count: int, fanout: int = FANOUT) -> Tree:
    """The hierarchical shape: level by level, every broker has `fanout` children while they last.

    With fanout 4, 85 brokers are the four full levels of the mobility paper, and brokers 21 to 84
    its leaves from west to east.
    """
    if broker_count < 1 or fanout < 1:
        raise ProblemError("A tree needs at least one broker and a fanout of at least one.")
    children = np.arange(1, broker_count, dtype=np.int64)
    return tree(broker_count, np.stack(((children - 1) // fanout, children), axis=1))


def next_hop(hung: Tree, source: int, target: int) -> int:
    """The neighbour on the way to the target; the source if it is the target."""
    way = path(hung, source, target)
    return way[min(1, len(way) - 1)]


def path(hung: Tree, source: int, target: int) -> list[int]:
    """Brokers from the source to the target, both included."""
    up, down = [source], [target]
    while up[-1] != down[-1]:
        climbing = up if hung.depths[up[-1]] >= hung.depths[down[-1]] else down
        climbing.append(int(hung.parents[climbing[-1]]))
    return up + down[-2::-1]


def subtree_sums(hung: Tree, values: NDArray[Any]) -> NDArray[Any]:
    """Sum of the values of each broker and all below it; first axis is brokers, others are kept."""
    sums = np.array(values, dtype=np.float64 if values.dtype.kind == "f" else np.int64)
    for level in _levels(hung)[:0:-1]:
        np.add.at(sums, hung.parents[level], sums[level])
    return sums


def steiner_brokers(hung: Tree, members: BoolArray) -> BoolArray:
    """Brokers of the smallest subtree that holds all members: (broker,), or (broker, set).

    A broker is in it if members stand both below or at it and elsewhere, or if it is the lowest
    broker that has all of them below. members: (broker,), or (broker, set) for many sets at once.
    """
    below = subtree_sums(hung, members.astype(np.int64))
    totals = below[hung.root]
    fullest_child = np.zeros_like(below)
    np.maximum.at(fullest_child, hung.parents[hung.order[1:]], below[hung.order[1:]])
    is_needed: BoolArray = (below > 0) & ((below < totals) | (fullest_child < totals))
    return is_needed


def _hang(joined: Graph, root: int) -> Tree:
    parents = np.full(joined.broker_count, root, dtype=np.int32)
    depths = np.zeros(joined.broker_count, dtype=np.int32)
    order = [root]
    for here in order:
        for other in joined.of(here).tolist():
            if other != parents[here]:
                parents[other] = here
                depths[other] = depths[here] + 1
                order.append(other)
    return Tree(joined, root, parents, depths, np.array(order, dtype=np.int32))


def _levels(hung: Tree) -> list[Int32Array]:
    """Brokers of each level, from the root down."""
    starts = np.searchsorted(hung.depths[hung.order], np.arange(1, hung.depths.max() + 1))
    return np.split(hung.order, starts)
