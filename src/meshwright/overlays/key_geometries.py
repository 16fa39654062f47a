"""The key geometries by name, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import signature

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.overlay import Parameter
from meshwright.overlays import chord, pastry, quadtree, tapestry
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.routes import walk

GEOMETRIES_KEPT = 4

KEY_GEOMETRIES: dict[str, Callable[..., KeyGeometry]] = {
    "chord": chord.chord,
    "tapestry": tapestry.tapestry,
    "pastry": pastry.pastry,
    "quadtree": quadtree.quadtree,
}

KEY_OWNERS: dict[str, Callable[[KeyGeometry, Int64Array], Int32Array]] = {
    "chord": lambda ring, keys: chord.owners(ring.identifiers, keys),
    "tapestry": lambda mesh, keys: tapestry.owners(mesh.identifiers, keys, **mesh.params),
    "pastry": lambda ring, keys: pastry.owners(ring.identifiers, keys),
    "quadtree": lambda cells, keys: quadtree.owners(cells.identifiers, keys),
}


def key_geometry(
    name: str, position_count: int, *, identifiers: Int64Array | None = None, **params: Parameter
) -> KeyGeometry:
    """The named geometry with its positions; params are those of the geometry, such as base."""
    if name not in KEY_GEOMETRIES:
        raise CallerError(
            f"There is no key geometry {name!r}; choose one of {', '.join(KEY_GEOMETRIES)}."
        )
    known = signature(KEY_GEOMETRIES[name]).parameters
    unknown = [param for param in params if param not in known]
    if unknown:
        raise CallerError(f"The {name} geometry has no parameter {unknown[0]!r}; leave it out.")
    places = None if identifiers is None else np.asarray(identifiers, dtype=np.int64).tobytes()
    return _built(name, position_count, places, tuple(sorted(params.items())))


def owners(geometry: KeyGeometry, keys: Int64Array) -> Int32Array:
    """Positions that own the keys: (key,)."""
    return KEY_OWNERS[geometry.name](geometry, np.asarray(keys, dtype=np.int64))


@lru_cache(maxsize=GEOMETRIES_KEPT)
def _built(
    name: str, position_count: int, places: bytes | None, params: tuple[tuple[str, Parameter], ...]
) -> KeyGeometry:
    """The same geometry is asked for again and again, and nothing in it can be changed."""
    identifiers = None if places is None else np.frombuffer(places, dtype=np.int64)
    return KEY_GEOMETRIES[name](position_count, identifiers=identifiers, **dict(params))


def path(geometry: KeyGeometry, source: int, target: int) -> list[int]:
    """Positions on the route from the source to the target, both included."""
    return walk(lambda position: int(geometry.next_hops[position, target]), source)


def tree_path(geometry: KeyGeometry, root: int, position: int) -> list[int]:
    """Positions from one up to the root of a topic tree, both included."""
    return walk(lambda below: int(geometry.parents[root, below]), position)
