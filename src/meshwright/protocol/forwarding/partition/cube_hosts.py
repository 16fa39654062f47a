"""Which broker stands for each position of a hypercube, among the brokers that are seen alive.

A broker stands for its own position, and may stand for one that is missing or whose broker is dead.
All brokers with the same view find the same one: first across the top dimension, which for missing
positions is the cleared bit; for a dominating node then its partner; then across the other
dimensions from the top down; then the broker at the next position that has a living one. [SHG, 2.3]
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from meshwright.errors import CallerError
from meshwright.model.overlay import Overlay
from meshwright.overlays.hypercube import (
    Hypercube,
    dominating_node,
    hypercube,
    low_bit_count_of,
    neighbours,
    partner,
)


class CubeHosts:
    """The hypercube of an overlay, and the brokers that stand for its positions.

    hosts: the broker of each position.
    parents: for each position the next one towards its dominating node, which is its own parent.
    children: for each position those of which it is the parent.
    """

    __slots__ = ("children", "cube", "hosts", "parents")

    def __init__(self, cube: Hypercube, occupied: dict[int, str]) -> None:
        self.cube = cube
        self.hosts = [_host(cube, occupied, position) for position in range(cube.position_count)]
        self.parents: list[int] = cube.parents.tolist()
        self.children: list[list[int]] = [[] for _ in self.parents]
        for position, parent in enumerate(self.parents):
            if parent != position:
                self.children[parent].append(position)

    def is_dominating(self, position: int) -> bool:
        return self.parents[position] == position

    def across(self, dominator: int, dimension: int) -> list[tuple[int, int]]:
        """Dominating nodes that get a frame from one that got it over a dimension, and over which.

        A binomial tree: it goes on over the higher dimensions only. Dimension -1 starts it.
        """
        cube = self.cube
        low_bit_count = cube.low_bit_count
        dimension_count = cube.dimension_count - low_bit_count + 1
        return [
            (
                partner(dominator, low_bit_count)
                if over == 0
                else dominator ^ (1 << (low_bit_count + over - 1)),
                over,
            )
            for over in range(dimension + 1, dimension_count)
        ]

    def neighbours(self, name: str) -> set[str]:
        """The brokers that stand for positions next to those of one."""
        cube = self.cube
        return {
            self.hosts[near]
            for position, host in enumerate(self.hosts)
            if host == name
            for near in neighbours(position, cube.dimension_count, cube.low_bit_count)
        }


def cube_hosts(overlay: Overlay, seen: frozenset[str]) -> CubeHosts:
    """The hypercube of an overlay with those of its brokers that are seen."""
    positions = overlay.positions or {}
    if sorted(positions.values()) != list(range(len(overlay.brokers))):
        raise CallerError(
            f"{len(overlay.brokers)} brokers on a hypercube sit at 0 to {len(overlay.brokers) - 1},"
            " each at another; correct the positions."
        )
    return _cube_hosts(
        len(overlay.brokers),
        low_bit_count_of(overlay.params),
        tuple(sorted((positions[name], name) for name in seen)),
    )


# All brokers of one process share these; those that see the same need them computed once.
@lru_cache(maxsize=16)
def _cube_hosts(
    broker_count: int, low_bit_count: int | None, occupied: tuple[tuple[int, str], ...]
) -> CubeHosts:
    return CubeHosts(hypercube(broker_count, low_bit_count=low_bit_count), dict(occupied))


def _host(cube: Hypercube, occupied: dict[int, str], position: int) -> str:
    return next(occupied[place] for place in _stand_ins(cube, position) if place in occupied)


def _stand_ins(cube: Hypercube, position: int) -> Iterator[int]:
    """A position and those that stand in for it, in their order."""
    yield position
    top = cube.dimension_count - 1
    yield position ^ (1 << top)
    if dominating_node(position, cube.low_bit_count) == position:
        yield partner(position, cube.low_bit_count)
    for bit in range(top - 1, -1, -1):
        yield position ^ (1 << bit)
    for step in range(1, cube.position_count):
        yield (position + step) % cube.position_count
