"""What a broker of a tree sees of its neighbourhood, and the better one found for it [OCBR]."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec


class NeighbourhoodView(msgspec.Struct, frozen=True, kw_only=True):
    """What a master knows of its star after a period.

    broker_count: in the whole tree. outer_degrees: links of each neighbour to others than the
    master. classes: names of the master (if it had clients who sent or wanted the message) and of
    the neighbours between whom a message travelled, and how many did.
    """

    round_number: int
    broker_count: int
    master: str
    neighbours: tuple[str, ...]
    outer_degrees: tuple[int, ...]
    classes: tuple[tuple[tuple[str, ...], int], ...]


class Redrawn(NamedTuple):
    """A tree over a master and its neighbours that is worth the change; costs are of the period."""

    links: tuple[tuple[str, str], ...]
    cost_before: int
    cost_after: int


# The same view has the same answer; None if nothing is worth the change.
Redraw = Callable[[NeighbourhoodView], Redrawn | None]
