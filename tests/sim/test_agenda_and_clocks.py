from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.sim.physics.agenda import NEAR_US, Agenda
from meshwright.sim.physics.chance import Draws, Streams, streams
from meshwright.sim.physics.clocks import SkewedClock


@given(st.lists(st.integers(0, 5)))
def test_things_happen_by_time_and_then_in_the_order_of_planning(times_us: list[int]) -> None:
    agenda = Agenda()
    happened: list[tuple[int, int]] = []
    for number, time_us in enumerate(times_us):
        agenda.at(time_us, lambda a, b: happened.append((a, b)), time_us, number)
    agenda.run_until(10)
    assert happened == sorted((time_us, number) for number, time_us in enumerate(times_us))


@given(st.lists(st.tuples(st.integers(0, 3 * NEAR_US), st.integers(0, 3 * NEAR_US))))
def test_what_is_near_and_what_is_far_happens_in_one_order(plans: list[tuple[int, int]]) -> None:
    agenda = Agenda()
    happened: list[int] = []

    def follow(delay_us: int, _: None) -> None:
        happened.append(agenda.now_us)
        agenda.at(agenda.now_us + delay_us, lambda _, __: happened.append(agenda.now_us))

    for time_us, delay_us in plans:
        agenda.at(time_us, follow, delay_us)
    for end_us in (2 * NEAR_US, 2 * NEAR_US, 6 * NEAR_US):
        agenda.run_until(end_us)
    assert happened == sorted(time for at, after in plans for time in (at, at + after))
    assert not len(agenda)


def test_what_is_planned_while_it_happens_still_happens_in_its_place() -> None:
    agenda = Agenda()
    happened: list[str] = []

    def first(_: None, __: None) -> None:
        happened.append("first")
        agenda.at(1, lambda _, __: happened.append("third"))

    agenda.at(1, first)
    agenda.at(1, lambda _, __: happened.append("second"))
    agenda.at(3, lambda _, __: happened.append("too late"))
    agenda.run_until(2)
    assert happened == ["first", "second", "third"]
    assert agenda.now_us == 2
    assert len(agenda) == 1


@given(
    st.integers(-(10**9), 10**9),
    st.integers(-500_000, 500_000),
    st.integers(0, 10**12),
)
def test_a_timer_on_a_wrong_clock_fires_at_the_first_moment_that_shows_its_time(
    offset_us: int, drift_ppm: int, true_us: int
) -> None:
    clock = SkewedClock(offset_us, drift_ppm)
    at_us = clock.local_us(true_us)
    first_us = clock.true_us(at_us)
    assert first_us <= true_us
    assert clock.local_us(first_us) >= at_us
    assert clock.local_us(first_us - 1) < at_us


def test_streams_of_one_seed_differ_and_are_the_same_again() -> None:
    drawn = [stream.integers(2**62) for stream in streams(3)]
    assert len(set(drawn)) == len(Streams._fields)
    assert drawn == [stream.integers(2**62) for stream in streams(3)]


def test_draws_lie_between_their_ends_and_reach_both() -> None:
    draws = Draws(np.random.default_rng(0), 3, 5)
    assert {draws.next() for _ in range(5000)} == {3, 4, 5}
