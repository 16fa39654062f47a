"""What planners know of a key geometry: fixed positions, and routes between them as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.overlay import Parameter

TreeDirection = Literal["root_to_member", "member_to_root"]


@dataclass(frozen=True, slots=True, eq=False)
class KeyGeometry:
    """Positions with identifiers on a key space, and every route between them.

    identifiers: ascending, (position,).
    next_hops: the next position from source towards target, (source, target); itself if equal.
    parents: the parent of a position in the tree of a root, (root, position); the root's is itself.
    That tree is the union of the routes from the root to each position where it grows
    root_to_member, and of the routes from each position to the root where it grows member_to_root.
    hops: the depth of a position in the tree of a root, (root, position).
    links: neighbouring positions, lower first, in ascending order, (link, 2).
    params: what, beside the identifiers, makes the same geometry again.
    """

    name: str
    tree_direction: TreeDirection
    identifiers: Int64Array
    next_hops: Int32Array
    parents: Int32Array
    hops: Int32Array
    links: Int32Array
    params: Mapping[str, Parameter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.identifiers, self.next_hops, self.parents, self.hops, self.links):
            array.setflags(write=False)

    @property
    def position_count(self) -> int:
        return len(self.identifiers)
