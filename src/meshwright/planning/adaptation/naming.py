"""Trees and traffic by name: the vertices are an overlay's brokers, then clients as listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay
from meshwright.planning.adaptation.values import DispatchTree, Traffic, tree_from_links

MESSAGES_MAX = 2**62


def vertex_names(overlay: Overlay, clients: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Names of all vertices; clients maps each client to its broker."""
    names = overlay.brokers + tuple(clients or ())
    numbers = {name: number for number, name in enumerate(names)}
    for number, name in enumerate(names):
        if numbers[name] != number:
            raise ProblemError(f"{name!r} is the name of two brokers or clients; rename one.")
    return names


def tree_from_names(overlay: Overlay, clients: Mapping[str, str] | None = None) -> DispatchTree:
    """The tree that an overlay's links make, with clients as its leaves."""
    vertex_names(overlay, clients)
    numbers = {name: number for number, name in enumerate(overlay.brokers)}
    for link in overlay.links:
        for end in link:
            if end not in numbers:
                raise ProblemError(f"Link {link[0]} - {link[1]}: {end!r} is not a broker.")
    for client, broker in (clients or {}).items():
        if broker not in numbers:
            raise ProblemError(f"Client {client!r} is on {broker!r}, which is not a broker.")
    return tree_from_links(
        len(numbers),
        [(numbers[one], numbers[other]) for one, other in overlay.links],
        [numbers[broker] for broker in (clients or {}).values()],
    )


def traffic_from_names(names: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]]) -> Traffic:
    """Traffic from (messages, members) rows; names are those of all vertices, in order."""
    numbers = {name: number for number, name in enumerate(names)}
    classes: list[list[int]] = []
    messages: list[int] = []
    for row, (count, members) in enumerate(rows, start=1):
        if not 0 <= count < MESSAGES_MAX:
            raise ProblemError(
                f"Traffic class {row} has {count} messages; give a whole number from 0."
            )
        if not members:
            raise ProblemError(f"Traffic class {row} has no members; name at least one.")
        for place, member in enumerate(members):
            if member not in numbers:
                raise ProblemError(
                    f"Traffic class {row} names {member!r}, which is no broker or client "
                    "of the tree; correct the name."
                )
            if member in members[:place]:
                raise ProblemError(f"Traffic class {row} names {member!r} twice; name it once.")
        classes.append([numbers[member] for member in members])
        messages.append(count)
    return Traffic(interests_from_sets(classes, len(names)), np.array(messages, dtype=np.int64))
