"""A key geometry over the brokers seen alive, by name; shared by all with the same view."""

from __future__ import annotations

from functools import lru_cache

from meshwright.model.overlay import Overlay, Parameter
from meshwright.overlays.geometry import KeyGeometry, TreeDirection
from meshwright.overlays.key_geometries import NEAREST, roots, seated_geometry

ROOTS_REMEMBERED_MAX = 65_536

Positions = tuple[tuple[int, str], ...]
Links = tuple[tuple[str, str], ...]


class KeyRoutes:
    """The roots of topics, and the routes between living brokers."""

    __slots__ = ("_geometry", "_indexes", "_names", "_neighbours", "_roots")

    def __init__(self, geometry: KeyGeometry, names: tuple[str, ...]) -> None:
        self._geometry = geometry
        self._names = names
        self._indexes = {name: index for index, name in enumerate(names)}
        self._roots: dict[str, str] = {}
        self._neighbours: dict[str, list[str]] = {name: [] for name in names}
        for one, other in geometry.links.tolist():
            self._neighbours[names[one]].append(names[other])
            self._neighbours[names[other]].append(names[one])

    @property
    def tree_direction(self) -> TreeDirection:
        return self._geometry.tree_direction

    def neighbours(self, name: str) -> list[str]:
        """The brokers that are linked with one, in no order that matters."""
        return self._neighbours[name]

    def root(self, topic: str) -> str:
        """The broker that owns a topic's key."""
        root = self._roots.get(topic)
        if root is None:
            if len(self._roots) >= ROOTS_REMEMBERED_MAX:
                self._roots.clear()
            root = self._roots[topic] = self._names[int(roots(self._geometry, (topic,))[0])]
        return root

    def next_hop(self, source: str, target: str) -> str | None:
        """The next broker on the route, the target itself if it is the source; None if unseen."""
        start, end = self._indexes.get(source), self._indexes.get(target)
        if start is None or end is None:
            return None
        return self._names[int(self._geometry.next_hops[start, end])]

    def root_hop(self, source: str, topic: str) -> str:
        """The next broker on the route to a topic's root, the source itself if it is the root."""
        return self.next_hop(source, self.root(topic)) or source


def key_routes(overlay: Overlay, seen: frozenset[str]) -> KeyRoutes:
    """The routes of an overlay among those of its brokers that are seen."""
    positions = overlay.positions or {}
    occupied = tuple(sorted((positions[name], name) for name in seen if name in positions))
    # Links decide routes only where neighbours were chosen by something else than identifiers.
    links = overlay.links if overlay.params.get("neighbours") == NEAREST else ()
    return _routes(overlay.design, tuple(sorted(overlay.params.items())), links, occupied)


# All brokers of one process share these; those that see the same need them computed once.
@lru_cache(maxsize=16)
def _routes(
    design: str, params: tuple[tuple[str, Parameter], ...], links: Links, occupied: Positions
) -> KeyRoutes:
    names = tuple(name for _, name in occupied)
    positions = {name: identifier for identifier, name in occupied}
    among = Overlay(
        design=design, params=dict(params), brokers=names, links=links, positions=positions
    )
    return KeyRoutes(seated_geometry(among, names), names)
