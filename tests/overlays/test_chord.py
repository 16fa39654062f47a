"""What is known of Chord beyond the laws of all key geometries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.overlays import chord
from meshwright.overlays.key_space import KEY_SPACE


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 64, 100, 129, 1200])
def test_even_positions_are_at_most_log2_hops_apart(count: int) -> None:
    geometry = chord.chord(count)
    assert geometry.identifiers.tolist() == [i * 2**32 // count for i in range(count)]
    assert geometry.hops.max() <= math.ceil(math.log2(count))


def test_on_a_power_of_two_hops_are_the_ones_in_the_clockwise_distance() -> None:
    geometry = chord.chord(64)
    expected = [[((v - u) % 64).bit_count() for v in range(64)] for u in range(64)]
    assert geometry.hops.tolist() == expected


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(0, 31).flatmap(lambda bit: st.integers(0, 1 << bit)), min_size=1))
def test_no_route_is_longer_than_the_key_bits(members: set[int]) -> None:
    identifiers = np.array(sorted(members), dtype=np.int64)
    assert chord.chord(len(identifiers), identifiers=identifiers).hops.max() <= 32


@given(
    st.sets(st.integers(0, KEY_SPACE - 1), min_size=1, max_size=20),
    st.integers(0, KEY_SPACE - 1),
)
def test_the_owner_is_the_first_position_met_clockwise_from_the_key(
    members: set[int], key: int
) -> None:
    identifiers = sorted(members)
    nearest = min(range(len(members)), key=lambda i: (identifiers[i] - key) % KEY_SPACE)
    assert chord.owner(np.array(identifiers, dtype=np.int64), key) == nearest


def test_fingers_are_the_successors_of_the_powers_of_two() -> None:
    identifiers = np.array([0, 10, 2**31, 2**31 + 5], dtype=np.int64)
    assert chord.neighbours(identifiers, 0) == [1, 2]
    assert chord.neighbours(identifiers, 2) == [3, 0]
    assert chord.path(identifiers, 1, 2**31 + 1) == [1, 2, 3]
