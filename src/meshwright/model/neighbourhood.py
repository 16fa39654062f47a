"""What a broker of a tree sees of its neighbourhood, and the better one found for it [OCBR]."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

# Stands before the name of a client among those of brokers, none of which has it.
CLIENT_MARK = "/"


class NeighbourhoodView(msgspec.Struct, frozen=True, kw_only=True):
    """What a master knows of its star after a period.

    broker_count: in the whole tree. outer_degrees: links of each neighbour to others than the
    master. classes: names of the master (if it had clients who sent or wanted the message), of the
    neighbours and of clients that may move, between whom a message travelled, and how many did.
    clients: clients of the master that may move, as CLIENT_MARK and their name.
    """

    round_number: int
    broker_count: int
    master: str
    neighbours: tuple[str, ...]
    outer_degrees: tuple[int, ...]
    classes: tuple[tuple[tuple[str, ...], int], ...]
    clients: tuple[str, ...] = ()


class Redrawn(NamedTuple):
    """A tree over a master and its neighbours that is worth the change; costs are of the period.

    moves: clients, by their own name, and the neighbour to which each goes.
    """

    links: tuple[tuple[str, str], ...]
    cost_before: int
    cost_after: int
    moves: tuple[tuple[str, str], ...] = ()


# The same view has the same answer; None if nothing is worth the change.
Redraw = Callable[[NeighbourhoodView], Redrawn | None]
