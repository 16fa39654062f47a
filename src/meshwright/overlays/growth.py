"""An overlay with one broker more: everybody else keeps its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import msgspec
import numpy as np

from meshwright.errors import CallerError
from meshwright.model.designs import DEFAULT_DESIGN, design
from meshwright.model.overlay import Overlay
from meshwright.overlays.hypercube import hypercube
from meshwright.overlays.key_geometries import key_geometry
from meshwright.overlays.key_space import KEY_SPACE

Links = tuple[tuple[str, str], ...]


def lone_overlay(name: str) -> Overlay:
    """The overlay of a broker that is not in one with others yet."""
    return Overlay(design=DEFAULT_DESIGN, brokers=(name,), links=(), positions={name: 0})


def with_broker(overlay: Overlay, name: str) -> Overlay:
    """The same design with a broker more, the same whoever asks.

    On a key geometry it sits in the middle of the widest gap, on a hypercube at the next position,
    in a tree below the broker with the fewest links. A graph joins it with everybody: that
    keeps every topic as connected as it was, whatever the newcomer will want.
    """
    if name in overlay.brokers:
        raise CallerError(f"The broker {name!r} is in the overlay already; name another.")
    grow = GROWTHS.get(design(overlay.design).geometry, _on_key_geometry)
    return grow(overlay, name, (*overlay.brokers, name))


def _on_tree(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    degrees = Counter(end for link in overlay.links for end in link)
    above = min(overlay.brokers, key=lambda one: degrees[one])
    links = (*overlay.links, (above, name))
    return msgspec.structs.replace(overlay, brokers=brokers, links=links)


def _on_graph(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    links = (*overlay.links, *((one, name) for one in overlay.brokers))
    return msgspec.structs.replace(overlay, brokers=brokers, links=links)


def _on_key_geometry(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    positions = dict(overlay.positions or {})
    positions[name] = _widest_gap(sorted(positions.values()))
    seated = sorted(positions, key=lambda one: positions[one])
    shape = design(overlay.design).geometry
    known = key_geometry(shape, 1).params
    params = {
        param: value
        for param, value in overlay.params.items()
        if param in known and isinstance(value, int)
    }
    identifiers = np.array([positions[one] for one in seated], dtype=np.int64)
    geometry = key_geometry(shape, len(seated), identifiers=identifiers, **params)
    links = _named(geometry.links.tolist(), seated, brokers)
    return msgspec.structs.replace(overlay, brokers=brokers, positions=positions, links=links)


def _on_hypercube(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    positions = {**(overlay.positions or {}), name: len(overlay.brokers)}
    seated = sorted(positions, key=lambda one: positions[one])
    low_bit_count = overlay.params.get("low_bit_count")
    cube = hypercube(
        len(brokers), low_bit_count=low_bit_count if isinstance(low_bit_count, int) else None
    )
    links = _named(cube.links.tolist(), seated, brokers)
    return msgspec.structs.replace(overlay, brokers=brokers, positions=positions, links=links)


def _widest_gap(taken: list[int]) -> int:
    """The identifier in the middle of the widest gap of the key space, the first of equal ones."""
    gaps = pairwise((*taken, taken[0] + KEY_SPACE))
    start, end = max(gaps, key=lambda gap: gap[1] - gap[0])
    return (start + (end - start) // 2) % KEY_SPACE


def _named(links: list[list[int]], seated: list[str], brokers: tuple[str, ...]) -> Links:
    """Links between places as links between those who sit there, in the order of the brokers."""
    order = {name: index for index, name in enumerate(brokers)}
    pairs = sorted(sorted((order[seated[one]], order[seated[other]])) for one, other in links)
    return tuple((brokers[one], brokers[other]) for one, other in pairs)


# By geometry; all others are key geometries.
GROWTHS: dict[str, Callable[[Overlay, str, tuple[str, ...]], Overlay]] = {
    "hypercube": _on_hypercube,
    "tree": _on_tree,
    "graph": _on_graph,
}
