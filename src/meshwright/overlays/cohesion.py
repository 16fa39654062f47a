"""How well some brokers of a graph are joined among themselves: by how many disjoint ways.

Small and plain, for one set of brokers at a time; planning has a faster twin for all topics at once
(planning.topic_connected.kernels.cuts).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

Neighbours = Mapping[str, Collection[str]]


def cohesion(neighbours: Neighbours, members: Collection[str], k: int) -> int:
    """The vertex connectivity of the members' part of a graph, k at most.

    Members who are all joined with each other hold k, however few they are: nothing can part them.
    """
    inside = set(members)
    near = {one: sorted(inside.intersection(neighbours[one])) for one in sorted(inside)}
    if all(len(others) == len(near) - 1 for others in near.values()):
        return k
    for lost_count in range(k):
        if any(not _is_joined(near, set(lost)) for lost in combinations(near, lost_count)):
            return lost_count
    return k


def _is_joined(near: Mapping[str, list[str]], lost: set[str]) -> bool:
    """True if those who are left reach each other."""
    left = [one for one in near if one not in lost]
    found, pending = {left[0]}, [left[0]]
    while pending:
        for other in near[pending.pop()]:
            if other not in found and other not in lost:
                found.add(other)
                pending.append(other)
    return len(found) == len(left)
