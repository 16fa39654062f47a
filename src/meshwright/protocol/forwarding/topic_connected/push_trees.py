"""Trees that span the receivers of a topic, computed alike by all brokers that get the frame.

A frame names its receivers (its crowd) by one bit for each broker of the overlay, and the receiver
where it came in. All brokers know the links, so all find the same breadth-first tree without
asking. Receivers that the links do not join among themselves make several groups; each further
group is connected straight to the first broker of an earlier one, GROUPS_BELOW to each. [kTCO, 3.1]
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from meshwright.model.overlay import Overlay

GROUPS_BELOW = 4
TREES_REMEMBERED_MAX = 4_096

# Bit b of byte i is the broker 8 * i + b of the overlay.
Crowd = bytes


class PushTree(NamedTuple):
    """A tree of brokers by name; the parent of its root is the root."""

    parents: dict[str, str]
    children: dict[str, tuple[str, ...]]


class JoinedBrokers:
    """The brokers of an overlay and its links; neighbours are in the overlay's order."""

    __slots__ = ("_byte_count", "_named", "indexes", "names", "neighbours")

    def __init__(self, names: tuple[str, ...], links: Iterable[tuple[str, str]]) -> None:
        self.names = names
        self.indexes = {name: index for index, name in enumerate(names)}
        self._byte_count = (len(names) + 7) // 8
        self._named: dict[Crowd, frozenset[str]] = {}
        near: list[list[int]] = [[] for _ in names]
        for one, other in links:
            near[self.indexes[one]].append(self.indexes[other])
            near[self.indexes[other]].append(self.indexes[one])
        self.neighbours = tuple(tuple(sorted(of_one)) for of_one in near)

    def crowd(self, names: Iterable[str]) -> Crowd:
        """The set of these brokers; those that are not in the overlay are left out."""
        indexes = self.indexes
        bits = 0
        for name in names:
            if name in indexes:
                bits |= 1 << indexes[name]
        return bits.to_bytes(self._byte_count, "little")

    def receivers(self, crowd: Crowd) -> list[int]:
        """The indexes of the brokers of a crowd, ascending."""
        bits = int.from_bytes(crowd, "little")
        return [index for index in range(len(self.names)) if bits >> index & 1]

    def named(self, crowd: Crowd) -> frozenset[str]:
        """The names of the brokers of a crowd."""
        named = self._named.get(crowd)
        if named is None:
            if len(self._named) >= TREES_REMEMBERED_MAX:
                self._named.clear()
            named = frozenset(self.names[index] for index in self.receivers(crowd))
            self._named[crowd] = named
        return named


class WayIn(NamedTuple):
    """The receiver where a frame from a broker enters its crowd, and the next hop to it."""

    entry: str
    next_hop: str


def joined_brokers(overlay: Overlay) -> JoinedBrokers:
    """The brokers and links of an overlay."""
    return _joined_brokers(overlay.brokers, overlay.links)


# All brokers of one process share these caches, so each tree is computed once.
@lru_cache(maxsize=TREES_REMEMBERED_MAX)
def push_tree(joined: JoinedBrokers, entry: str, crowd: Crowd) -> PushTree:
    """The tree from an entry over all receivers of a crowd; neighbours in ascending order."""
    names = joined.names
    receivers = joined.receivers(crowd)
    missing = set(receivers)
    parents: dict[str, str] = {}
    children: dict[str, list[str]] = {}
    heads: list[int] = []
    for head in (joined.indexes[entry], *receivers):
        if names[head] in parents:
            continue
        above = heads[(len(heads) - 1) // GROUPS_BELOW] if heads else head
        parents[names[head]] = names[above]
        if above != head:
            children.setdefault(names[above], []).append(names[head])
        heads.append(head)
        missing.discard(head)
        reached = [head]
        for here in reached:
            for other in joined.neighbours[here]:
                if other in missing:
                    missing.discard(other)
                    reached.append(other)
                    parents[names[other]] = names[here]
                    children.setdefault(names[here], []).append(names[other])
    return PushTree(parents, {name: tuple(below) for name, below in children.items()})


@lru_cache(maxsize=TREES_REMEMBERED_MAX)
def ways_in(joined: JoinedBrokers, seen: frozenset[str], crowd: Crowd) -> dict[str, WayIn]:
    """How each living broker reaches the nearest living receiver; empty if there is none.

    Ties go to the lowest receiver, then to the lowest next broker. A broker that the links do not
    join with any connects straight to the lowest receiver.
    """
    names = joined.names
    lives = [name in seen for name in names]
    receivers = [index for index in joined.receivers(crowd) if lives[index]]
    if not receivers:
        return {}
    ways = {index: (index, index) for index in receivers}
    level = receivers
    while level:
        following: dict[int, tuple[int, int]] = {}
        for here in level:
            for other in joined.neighbours[here]:
                if lives[other] and other not in ways:
                    way = (ways[here][0], here)
                    following[other] = min(way, following.get(other, way))
        ways.update(following)
        level = list(following)
    straight = (receivers[0], receivers[0])
    found = ((index, ways.get(index, straight)) for index in range(len(names)) if lives[index])
    return {names[index]: WayIn(names[entry], names[hop]) for index, (entry, hop) in found}


@lru_cache(maxsize=16)
def _joined_brokers(names: tuple[str, ...], links: tuple[tuple[str, str], ...]) -> JoinedBrokers:
    return JoinedBrokers(names, links)
