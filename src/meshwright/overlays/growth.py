"""An overlay with one broker more or fewer: everybody else keeps its place, if that can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import msgspec

from meshwright.errors import CallerError
from meshwright.model.designs import DEFAULT_DESIGN, design
from meshwright.model.overlay import Overlay
from meshwright.overlays.hypercube import dimensions_for, hypercube_of
from meshwright.overlays.key_geometries import seated_geometry
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


def without_broker(overlay: Overlay, name: str) -> Overlay:
    """The same design with a broker fewer, the same whoever asks.

    On a key geometry its position is left empty; on a hypercube the broker of the last position
    takes its place; in a tree the first of its neighbours is joined with the others, and is the
    root if that broker was. In a graph its links go and no other comes: who knows what brokers want
    must see to its topics.
    """
    if name not in overlay.brokers or len(overlay.brokers) < 2:
        raise CallerError(f"There is no broker {name!r} that the overlay could do without.")
    shrink = LOSSES.get(design(overlay.design).geometry, _off_key_geometry)
    return shrink(overlay, name, tuple(one for one in overlay.brokers if one != name))


def _on_tree(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    degrees = Counter(end for link in overlay.links for end in link)
    above = min(overlay.brokers, key=lambda one: degrees[one])
    links = (*overlay.links, (above, name))
    return msgspec.structs.replace(overlay, brokers=brokers, links=links)


def _off_tree(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    around = {end for link in overlay.links if name in link for end in link} - {name}
    above, *others = [one for one in brokers if one in around]
    left = _off_graph(overlay, name, brokers)
    links = (*left.links, *((above, other) for other in others))
    params = dict(left.params)
    if params.get("root") == name:
        params["root"] = above
    return msgspec.structs.replace(left, links=links, params=params)


def _on_graph(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    links = (*overlay.links, *((one, name) for one in overlay.brokers))
    return msgspec.structs.replace(overlay, brokers=brokers, links=links)


def _off_graph(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    links = tuple(link for link in overlay.links if name not in link)
    return msgspec.structs.replace(overlay, brokers=brokers, links=links)


def _on_key_geometry(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    positions = dict(overlay.positions or {})
    positions[name] = _widest_gap(sorted(positions.values()))
    return _on_keys(overlay, positions, brokers)


def _off_key_geometry(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    positions = {one: at for one, at in (overlay.positions or {}).items() if one != name}
    return _on_keys(overlay, positions, brokers)


def _on_keys(overlay: Overlay, positions: dict[str, int], brokers: tuple[str, ...]) -> Overlay:
    """Brokers at given identifiers of a key geometry."""
    seated = sorted(positions, key=lambda one: positions[one])
    grown = msgspec.structs.replace(overlay, brokers=brokers, positions=positions)
    geometry = seated_geometry(grown, seated)
    links = _named(geometry.links.tolist(), seated, brokers)
    return msgspec.structs.replace(grown, links=links)


def _on_hypercube(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    return on_cube(overlay, {**(overlay.positions or {}), name: len(overlay.brokers)}, brokers)


def _off_hypercube(overlay: Overlay, name: str, brokers: tuple[str, ...]) -> Overlay:
    positions = dict(overlay.positions or {})
    empty = positions.pop(name)
    last = max(positions, key=lambda one: positions[one])
    if positions[last] > empty:
        positions[last] = empty
    return on_cube(overlay, positions, brokers)


def on_cube(overlay: Overlay, positions: dict[str, int], brokers: tuple[str, ...]) -> Overlay:
    """Brokers at given positions of a hypercube."""
    seated = sorted(positions, key=lambda one: positions[one])
    low_bit_count = overlay.params.get("low_bit_count")
    params = dict(overlay.params)
    if isinstance(low_bit_count, int):
        # A smaller cube has fewer dimensions to choose from.
        params["low_bit_count"] = min(low_bit_count, max(1, dimensions_for(len(brokers)) - 1))
    cube = hypercube_of(len(brokers), params)
    links = _named(cube.links.tolist(), seated, brokers)
    return msgspec.structs.replace(
        overlay, params=params, brokers=brokers, positions=positions, links=links
    )


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
LOSSES: dict[str, Callable[[Overlay, str, tuple[str, ...]], Overlay]] = {
    "hypercube": _off_hypercube,
    "tree": _off_tree,
    "graph": _off_graph,
}
