"""Laws that hold for every key geometry, checked on the arrays and on the plain functions."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import Int64Array
from meshwright.overlays import chord, pastry, quadtree, tapestry
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_geometries import (
    KEY_GEOMETRIES,
    key_geometry,
    owners,
    path,
    tree_path,
)
from meshwright.overlays.key_space import KEY_SPACE


class Variant(NamedTuple):
    """A geometry with its parameters: its name in the table, and its plain functions."""

    name: str
    plain: ModuleType
    params: dict[str, int]

    def owner(self, identifiers: Int64Array, key: int) -> int:
        # Only on Tapestry does who owns a key depend on the digits.
        params = self.params if self.plain is tapestry else {}
        return int(self.plain.owner(identifiers, key, **params))

    def geometry(self, identifiers: Int64Array) -> KeyGeometry:
        return key_geometry(self.name, len(identifiers), identifiers=identifiers, **self.params)


VARIANTS = [
    Variant("chord", chord, {}),
    Variant("tapestry", tapestry, {}),
    Variant("tapestry", tapestry, {"base": 4}),
    Variant("pastry", pastry, {}),
    Variant("pastry", pastry, {"base": 2, "leaf_count": 4}),
    Variant("quadtree", quadtree, {}),
]
variants = pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.name}{v.params or ''}")
keys = st.integers(0, KEY_SPACE - 1)
some_identifiers = st.sets(
    st.one_of(keys, st.integers(0, 40), st.integers(KEY_SPACE - 40, KEY_SPACE - 1)),
    min_size=1,
    max_size=40,
).map(lambda members: np.array(sorted(members), dtype=np.int64))
clustered_identifiers = np.unique(
    np.concatenate(
        [
            np.random.default_rng(seed).integers(0, KEY_SPACE >> shift, 10) + seed * 1000
            for seed, shift in enumerate((0, 0, 1, 9, 18, 25))
        ]
    )
)
clustered_case = (clustered_identifiers, [0, 1, 5000, 1 << 31, KEY_SPACE - 1])
ring_and_keys = st.tuples(some_identifiers, st.lists(keys, min_size=1, max_size=4))


def check_arrays(geometry: KeyGeometry) -> None:
    """Routes arrive, hops count them, links carry them, and routes of a root form a tree."""
    count = geometry.position_count
    links = {(int(low), int(high)) for low, high in geometry.links}
    assert sorted(links) == [tuple(link) for link in geometry.links.tolist()]
    assert all(low < high for low, high in links)
    for root in range(count):
        for position in range(count):
            down = geometry.tree_direction == "root_to_member"
            source, target = (root, position) if down else (position, root)
            route = path(geometry, source, target)
            assert route[-1] == target
            assert len(route) == len(set(route)) == geometry.hops[root, position] + 1
            assert tree_path(geometry, root, position) == (route[::-1] if down else route)
            assert all((min(pair), max(pair)) in links for pair in pairwise(route))


@variants
@pytest.mark.parametrize("count", [*range(1, 20), 33, 100])
def test_every_route_arrives_over_links_and_routes_of_a_root_form_a_tree(
    variant: Variant, count: int
) -> None:
    geometry = key_geometry(variant.name, count, **variant.params)
    assert geometry.position_count == count
    assert dict(geometry.params) == {**geometry.params, **variant.params}
    check_arrays(geometry)


@variants
@settings(max_examples=25, deadline=None)
@given(case=ring_and_keys)
@example(case=clustered_case)
def test_the_laws_hold_for_any_identifiers(
    variant: Variant, case: tuple[Int64Array, list[int]]
) -> None:
    identifiers, _ = case
    check_arrays(variant.geometry(identifiers))


@variants
@settings(max_examples=25, deadline=None)
@given(case=ring_and_keys)
@example(case=clustered_case)
def test_arrays_equal_the_plain_functions(
    variant: Variant, case: tuple[Int64Array, list[int]]
) -> None:
    identifiers, some_keys = case
    geometry = variant.geometry(identifiers)
    links = {tuple(link) for link in geometry.links.tolist()}
    plain_links = set()
    for source in range(len(identifiers)):
        for target, identifier in enumerate(identifiers.tolist()):
            hop = variant.plain.next_hop(identifiers, source, identifier, **variant.params)
            assert geometry.next_hops[source, target] == hop
        for other in variant.plain.neighbours(identifiers, source, **variant.params):
            assert other != source
            plain_links.add((min(source, other), max(source, other)))
    assert plain_links == links
    found = owners(geometry, np.array(some_keys, dtype=np.int64))
    assert found.tolist() == [variant.owner(identifiers, key) for key in some_keys]


@variants
@settings(max_examples=25, deadline=None)
@given(case=ring_and_keys)
@example(case=clustered_case)
def test_every_route_to_a_key_ends_at_its_owner_by_hops_to_neighbours(
    variant: Variant, case: tuple[Int64Array, list[int]]
) -> None:
    identifiers, some_keys = case
    for key in some_keys:
        home = variant.owner(identifiers, key)
        for source in range(len(identifiers)):
            route = variant.plain.path(identifiers, source, key, **variant.params)
            assert route[0] == source
            assert route[-1] == home
            assert len(route) == len(set(route))
            for here, following in pairwise(route):
                assert following in variant.plain.neighbours(identifiers, here, **variant.params)


@variants
def test_a_position_owns_its_own_identifier(variant: Variant) -> None:
    geometry = key_geometry(variant.name, 77, **variant.params)
    assert owners(geometry, geometry.identifiers).tolist() == list(range(77))


@pytest.mark.parametrize("name", KEY_GEOMETRIES)
@pytest.mark.parametrize("count", [1000, 1200])
def test_large_networks_have_short_routes(name: str, count: int) -> None:
    geometry = key_geometry(name, count)
    assert geometry.hops.max() <= 11
    assert np.array_equal(np.diagonal(geometry.next_hops), np.arange(count))
    assert np.array_equal(np.diagonal(geometry.parents), np.arange(count))


def test_an_unknown_geometry_or_parameter_is_refused() -> None:
    with pytest.raises(CallerError, match="choose one of chord"):
        key_geometry("torus", 4)
    with pytest.raises(CallerError, match="no parameter 'base'"):
        key_geometry("chord", 4, base=16)


@pytest.mark.parametrize("name", KEY_GEOMETRIES)
def test_no_positions_and_unsound_identifiers_are_refused(name: str) -> None:
    with pytest.raises(ProblemError):
        key_geometry(name, 0)
    for wrong in ([1, 1], [2, 1], [-1, 3], [0, KEY_SPACE], [1, 2, 3]):
        with pytest.raises(CallerError):
            key_geometry(name, 2, identifiers=np.array(wrong, dtype=np.int64))
