"""The key geometries by name, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.designs import design
from meshwright.model.identifiers import topic_key
from meshwright.model.interests import BoolArray, Int32Array, Int64Array
from meshwright.model.overlay import Overlay, Parameter
from meshwright.overlays import chord, pastry, quadtree, tapestry
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.routes import walk

GEOMETRIES_KEPT = 4
NEAREST = "nearest"

KEY_GEOMETRIES: dict[str, Callable[..., KeyGeometry]] = {
    "chord": chord.chord,
    "tapestry": tapestry.tapestry,
    "pastry": pastry.pastry,
    "quadtree": quadtree.quadtree,
}

KEY_OWNERS: dict[str, Callable[[KeyGeometry, Int64Array], Int32Array]] = {
    "chord": lambda ring, keys: chord.owners(ring.identifiers, keys),
    "tapestry": lambda mesh, keys: tapestry.owners(mesh.identifiers, keys, base=_base(mesh)),
    "pastry": lambda ring, keys: pastry.owners(ring.identifiers, keys),
    "quadtree": lambda cells, keys: quadtree.owners(cells.identifiers, keys),
}


# Of geometries in which a topic's name may say where it belongs; elsewhere keys are hashes.
TOPIC_KEYS: dict[str, Callable[[Mapping[str, Parameter], Sequence[str]], Int64Array]] = {
    "quadtree": quadtree.topic_keys,
}


def key_geometry(
    name: str,
    position_count: int,
    *,
    identifiers: Int64Array | None = None,
    linked: BoolArray | None = None,
    **params: Parameter,
) -> KeyGeometry:
    """The named geometry with its positions; params are those of the geometry, such as base.

    linked: of a geometry whose neighbours are nearest, who they are, (position, position).
    """
    if name not in KEY_GEOMETRIES:
        raise CallerError(
            f"There is no key geometry {name!r}; choose one of {', '.join(KEY_GEOMETRIES)}."
        )
    known = signature(KEY_GEOMETRIES[name]).parameters
    unknown = [param for param in params if param not in known]
    if unknown:
        raise CallerError(f"The {name} geometry has no parameter {unknown[0]!r}; leave it out.")
    places = None if identifiers is None else np.asarray(identifiers, dtype=np.int64).tobytes()
    chosen = None if linked is None else np.asarray(linked, dtype=np.bool_).tobytes()
    return _built(name, position_count, places, chosen, tuple(sorted(params.items())))


def seated_geometry(overlay: Overlay, seated: Sequence[str]) -> KeyGeometry:
    """The geometry of an overlay among some of its brokers, by ascending identifier."""
    shape, positions = design(overlay.design).geometry, overlay.positions or {}
    if shape not in KEY_GEOMETRIES:
        raise CallerError(f"Design {overlay.design!r} has no key geometry; forward it otherwise.")
    known = signature(KEY_GEOMETRIES[shape]).parameters
    params = {
        name: value for name, value in overlay.params.items() if name in known and value is not None
    }
    identifiers = np.array([positions[name] for name in seated], dtype=np.int64)
    linked = _linked(overlay, seated) if params.get("neighbours") == NEAREST else None
    return key_geometry(shape, len(seated), identifiers=identifiers, linked=linked, **params)


def roots(geometry: KeyGeometry, topics: Sequence[str]) -> Int32Array:
    """Positions of the roots of topics: (topic,)."""
    keys_of = TOPIC_KEYS.get(geometry.name)
    if keys_of is None:
        keys = np.array([topic_key(topic) for topic in topics], dtype=np.int64)
    else:
        keys = keys_of(geometry.params, topics)
    return owners(geometry, keys)


def owners(geometry: KeyGeometry, keys: Int64Array) -> Int32Array:
    """Positions that own the keys: (key,)."""
    return KEY_OWNERS[geometry.name](geometry, np.asarray(keys, dtype=np.int64))


@lru_cache(maxsize=GEOMETRIES_KEPT)
def _built(
    name: str,
    position_count: int,
    places: bytes | None,
    chosen: bytes | None,
    params: tuple[tuple[str, Parameter], ...],
) -> KeyGeometry:
    """The same geometry is asked for again and again, and nothing in it can be changed."""
    identifiers = None if places is None else np.frombuffer(places, dtype=np.int64)
    given = dict[str, Any](params)
    if chosen is not None:
        linked = np.frombuffer(chosen, dtype=np.bool_)
        given["linked"] = linked.reshape(position_count, position_count)
    return KEY_GEOMETRIES[name](position_count, identifiers=identifiers, **given)


def _base(mesh: KeyGeometry) -> int:
    return int(mesh.params["base"] or tapestry.BASE)


def _linked(overlay: Overlay, seated: Sequence[str]) -> BoolArray:
    """Whether an overlay links two brokers: (position, position)."""
    numbers = {name: number for number, name in enumerate(seated)}
    ends = [
        (numbers[one], numbers[other])
        for one, other in overlay.links
        if one in numbers and other in numbers
    ]
    is_linked = np.zeros((len(seated), len(seated)), dtype=np.bool_)
    for one, other in ends:
        is_linked[one, other] = is_linked[other, one] = True
    return is_linked


def path(geometry: KeyGeometry, source: int, target: int) -> list[int]:
    """Positions on the route from the source to the target, both included."""
    return walk(lambda position: int(geometry.next_hops[position, target]), source)


def tree_path(geometry: KeyGeometry, root: int, position: int) -> list[int]:
    """Positions from one up to the root of a topic tree, both included."""
    return walk(lambda below: int(geometry.parents[root, below]), position)
