"""Slots that nobody asked for fit the trace, from minutes of a trial to years of check-ins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.times import SECOND_US
from meshwright.pipeline.tables.timeline import spanning


@pytest.mark.parametrize(
    ("hours", "slot_s"), [(0, 1), (5 / 60, 5), (1, 60), (2.9, 120), (3, 3600), (1_000, 36_000)]
)
def test_slots_are_round(hours: float, slot_s: int) -> None:
    found = spanning(0, round(hours * 3600 * SECOND_US), None, 1)
    assert found.slot_us == slot_s * SECOND_US


@given(span_us=st.integers(0, 10**15))
def test_there_are_about_a_hundred_slots_at_most(span_us: int) -> None:
    found = spanning(0, span_us, None, 1)
    assert 1 <= found.slot_count <= 101
    assert found.slot_us * found.slot_count > span_us
