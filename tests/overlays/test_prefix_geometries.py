"""What is known of Tapestry, Pastry and the quadtree beyond the laws of all key geometries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import CallerError, ProblemError
from meshwright.overlays import pastry, quadtree, tapestry
from meshwright.overlays.key_space import KEY_SPACE
from meshwright.overlays.prefixes import PrefixRouting

keys = st.integers(0, KEY_SPACE - 1)
some_identifiers = st.sets(keys, min_size=1, max_size=30).map(
    lambda members: np.array(sorted(members), dtype=np.int64)
)


def hexadecimal(*words: str) -> np.ndarray:
    return np.array([int(word.ljust(8, "0"), 16) for word in words], dtype=np.int64)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 16, 100, 257, 1200])
@pytest.mark.parametrize("base", [2, 4, 16, 256])
def test_even_positions_are_as_many_hops_apart_as_digits_tell_them_apart(
    count: int, base: int
) -> None:
    digit_count = math.ceil(math.ceil(math.log2(count)) / math.log2(base))
    assert tapestry.tapestry(count, base=base).hops.max() <= digit_count
    assert pastry.pastry(count, base=base).hops.max() <= digit_count


def test_a_hop_fixes_at_least_one_digit_more() -> None:
    rng = np.random.default_rng(5)
    identifiers = np.unique(rng.integers(0, KEY_SPACE, 90))
    routing = PrefixRouting(identifiers, 4)
    next_hops = routing.next_hops()
    for source, own in enumerate(identifiers.tolist()):
        for target, goal in enumerate(identifiers.tolist()):
            if source != target:
                hop = int(identifiers[next_hops[source, target]])
                assert routing.shared_digits(hop, goal) > routing.shared_digits(own, goal)


def test_the_table_entry_is_the_candidate_nearest_to_the_mirror_image() -> None:
    identifiers = hexadecimal("17", "21", "25", "28", "9")
    assert PrefixRouting(identifiers, 4).entry(0, 0, 2) == 3
    assert PrefixRouting(identifiers, 4).entry(4, 0, 2) == 1
    assert PrefixRouting(identifiers, 4).entry(1, 1, 5) == 2
    assert PrefixRouting(identifiers, 4).entry(0, 0, 3) is None


def test_the_surrogate_takes_the_next_digit_upward_modulo_the_base() -> None:
    identifiers = hexadecimal("12", "1a", "70", "75")
    owned_by = {"3": 2, "71": 3, "76": 2, "8": 0, "13": 1, "1b": 0, "0": 0}
    for word, position in owned_by.items():
        assert tapestry.owner(identifiers, int(hexadecimal(word)[0])) == position


@given(identifiers=some_identifiers, key=keys)
def test_pastry_delivers_at_the_numerically_closest(identifiers: np.ndarray, key: int) -> None:
    distances = [
        min((one - key) % KEY_SPACE, (key - one) % KEY_SPACE) for one in identifiers.tolist()
    ]
    assert distances[pastry.owner(identifiers, key)] == min(distances)


def test_a_tie_on_pastry_goes_to_the_position_before_the_key() -> None:
    identifiers = np.array([10, 20, KEY_SPACE - 10], dtype=np.int64)
    tied_keys = np.array([15, 0], dtype=np.int64)
    assert pastry.owners(identifiers, tied_keys).tolist() == [0, 2]
    assert [pastry.owner(identifiers, key) for key in (15, 0)] == [0, 2]


def test_leaves_stand_on_either_side() -> None:
    ring = pastry.pastry(40).identifiers
    around_zero = [*range(32, 40), *range(1, 9)]
    assert pastry.leaves(ring, 0) == around_zero
    assert sorted(pastry.leaves(ring[:5], 1)) == [0, 2, 3, 4]
    assert pastry.leaves(ring[:1], 0) == []


def test_where_the_table_is_empty_pastry_hops_to_the_closest_of_those_as_similar() -> None:
    identifiers = hexadecimal("1", "2", "3", "40", "41", "42", "43", "9", "a")
    key = int(hexadecimal("47")[0])
    assert pastry.path(identifiers, 0, key, leaf_count=2) == [0, 3, 6]
    assert pastry.next_hop(identifiers, 3, key, leaf_count=2) == 6


@settings(max_examples=20, deadline=None)
@given(identifiers=some_identifiers)
def test_a_quadtree_route_is_at_most_sixteen_hops(identifiers: np.ndarray) -> None:
    assert quadtree.quadtree(len(identifiers), identifiers=identifiers).hops.max() <= 16


@pytest.mark.parametrize(
    ("count", "depth"), [(1, 5), (7, 5), (100, 5), (1000, 5), (1024, 5), (1200, 6)]
)
def test_a_quadtree_route_takes_at_most_one_hop_a_level(count: int, depth: int) -> None:
    geometry = quadtree.quadtree(count)
    assert quadtree.depth_for(count) == depth
    assert geometry.hops.max() <= depth
    assert np.all(geometry.identifiers % (1 << (32 - 2 * depth)) == 0)


def test_on_a_full_map_the_entry_is_the_mirror_image_itself() -> None:
    geometry = quadtree.quadtree(1024)
    mirror_of_five = 5 + 2 * 4**3
    assert geometry.next_hops[5, 3 * 4**4] == 5 + 3 * 4**4
    assert geometry.next_hops[5, 2 * 4**3 + 1] == mirror_of_five
    degrees = np.bincount(geometry.links.ravel())
    assert degrees.tolist() == [3 * 5] * 1024


def test_cells_and_identifiers_are_each_other_s_inverse() -> None:
    columns, rows = np.meshgrid(np.arange(8), np.arange(8))
    identifiers = quadtree.identifiers_of_cells(columns.ravel(), rows.ravel(), 3)
    assert len(np.unique(identifiers)) == 64
    found_columns, found_rows = quadtree.columns_and_rows(identifiers)
    assert np.array_equal(found_columns >> 13, columns.ravel())
    assert np.array_equal(found_rows >> 13, rows.ravel())


def test_cells_of_a_map_are_so_small_that_every_broker_has_its_own() -> None:
    coordinates = np.array([[0.0, 0.0], [31.5, 32.0], [32.0, 31.5], [0.1, 0.2], [16.0, 0.0]])
    drawn = quadtree.drawn_map(coordinates)
    assert drawn.depth == 8
    columns, rows = (
        places >> 16 - drawn.depth
        for places in quadtree.columns_and_rows(quadtree.identifiers_on_map(drawn, coordinates))
    )
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [
        (0, 0), (252, 255), (255, 252), (0, 1), (128, 0)
    ]  # fmt: skip


def test_brokers_at_one_place_all_get_a_cell() -> None:
    coordinates = np.full((1200, 2), 48.1)
    identifiers = quadtree.identifiers_on_map(quadtree.drawn_map(coordinates), coordinates)
    assert len(np.unique(identifiers)) == 1200
    with pytest.raises(CallerError):
        quadtree.drawn_map(np.array([[np.nan, 1.0]]))


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(ProblemError, match="base 10"):
        tapestry.tapestry(4, base=10)
    with pytest.raises(ProblemError, match="leaf set"):
        pastry.pastry(4, leaf_count=3)
