"""Who is where and when: the mobility paper's three scenarios, and one of people with habits.

Times are after the begin of a run. What the paper leaves open is an argument with a default, or
stands in a docstring as a choice of ours. [mobility, 4.4]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from meshwright.lab.city.streets import CITY_KM, LEAF_KM, LEAVES, central, leaf_at, reflected
from meshwright.model.times import SECOND_US

MINUTE_US = 60 * SECOND_US
SPEEDS_KM_H = (5.0, 50.0, 100.0)


@dataclass(frozen=True, slots=True)
class Move:
    """A client leaves the broker where it is, and comes to a leaf later."""

    leaves_us: int
    arrives_us: int
    leaf: int


@dataclass(frozen=True, slots=True)
class Journey:
    """Where a client begins, and its moves in order."""

    start: int
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Travel:
    """How people travel.

    speeds_km_h: each journey has one of these. gap_s: how long a hand-off takes in the pervasive
    scenario. habit: of people with habits, how often they go where they usually go.
    """

    duration_us: int
    speeds_km_h: tuple[float, ...] = SPEEDS_KM_H
    gap_s: float = 10.0
    habit: float = 0.9


def commute(rng: np.random.Generator, travel: Travel) -> Journey:
    """From the centre home between 16:00 and 20:30, once; how fast anybody is does not matter.

    Two in five end near the centre and are away for 15 to 45 minutes, the others 45 to 90.
    """
    del travel
    outside = [leaf for leaf in range(len(LEAVES)) if leaf not in central(30)]
    start = int(rng.choice(central(20)))
    leaves_us = int(rng.integers(120 * MINUTE_US))
    if rng.random() < 0.4:
        end, away_us = int(rng.choice(central(30))), rng.integers(15 * MINUTE_US, 45 * MINUTE_US)
    else:
        end, away_us = int(rng.choice(outside)), rng.integers(45 * MINUTE_US, 90 * MINUTE_US)
    return Journey(start, (Move(leaves_us, leaves_us + int(away_us), end),))


def at_random(rng: np.random.Generator, travel: Travel) -> Journey:
    """Connected and away in turns, 10 to 30 minutes each, moving east or west while away.

    Who comes to the end of the city turns back; everybody begins anywhere, connected.
    """
    begin_km = float(rng.random() * CITY_KM)
    moves = tuple(
        Move(trip.leaves_us, trip.arrives_us, leaf_at(trip.end_km))
        for trip in _trips(rng, travel, begin_km)
    )
    return Journey(leaf_at(begin_km), moves)


def pervasive(rng: np.random.Generator, travel: Travel) -> Journey:
    """The same ways, but with a hand-off at every leaf on the way."""
    begin_km = float(rng.random() * CITY_KM)
    moves: list[Move] = []
    for trip in _trips(rng, travel, begin_km):
        moves.extend(_hand_offs(trip, int(travel.gap_s * SECOND_US)))
    return Journey(leaf_at(begin_km), tuple(moves))


def with_habits(rng: np.random.Generator, travel: Travel) -> Journey:
    """Between two places of one's own, as often as the habit says, and otherwise to any leaf.

    Times are those of the random scenario. Nothing else here can be foreseen by a broker.
    """
    places = rng.choice(len(LEAVES), size=2, replace=False).tolist()
    here = start = places[0]
    moves = []
    for leaves_us, arrives_us in _absences(rng, travel.duration_us):
        usual = places[1] if here == places[0] else places[0]
        here = usual if rng.random() < travel.habit else int(rng.integers(len(LEAVES)))
        moves.append(Move(leaves_us, arrives_us, here))
    return Journey(start, tuple(moves))


SCENARIOS: dict[str, Callable[[np.random.Generator, Travel], Journey]] = {
    "commute": commute,
    "random": at_random,
    "pervasive": pervasive,
    "habits": with_habits,
}


@dataclass(frozen=True, slots=True)
class _Trip:
    leaves_us: int
    arrives_us: int
    begin_km: float
    step_km: float

    @property
    def end_km(self) -> float:
        return reflected(self.begin_km + self.step_km)


def _trips(rng: np.random.Generator, travel: Travel, begin_km: float) -> Iterator[_Trip]:
    for leaves_us, arrives_us in _absences(rng, travel.duration_us):
        hours = (arrives_us - leaves_us) / (60 * MINUTE_US)
        step_km = float(rng.choice(travel.speeds_km_h) * rng.choice((-1, 1)) * hours)
        trip = _Trip(leaves_us, arrives_us, begin_km, step_km)
        yield trip
        begin_km = trip.end_km


def _absences(rng: np.random.Generator, duration_us: int) -> Iterator[tuple[int, int]]:
    """When a client leaves and comes back, until the run ends; who is back too late stays."""
    now_us = 0
    while True:
        connected_us, away_us = rng.integers(10 * MINUTE_US, 30 * MINUTE_US, size=2).tolist()
        leaves_us, arrives_us = now_us + connected_us, now_us + connected_us + away_us
        if arrives_us >= duration_us:
            return
        yield leaves_us, arrives_us
        now_us = arrives_us


def _hand_offs(trip: _Trip, gap_us: int) -> Iterator[Move]:
    """A move at each border between leaves, which takes the gap, or half the leaf if that is less.

    Borders are every half kilometre of the way; at the city's ends a border leads to the same leaf.
    """
    length_km = abs(trip.step_km)
    forward = 1 if trip.step_km > 0 else -1
    offset_km = trip.begin_km % LEAF_KM
    first_km = LEAF_KM - offset_km if forward > 0 else offset_km
    us_per_km = (trip.arrives_us - trip.leaves_us) / length_km
    gap_us = min(gap_us, int(us_per_km * LEAF_KM / 2))
    here = leaf_at(trip.begin_km)
    way_km = first_km
    while way_km < length_km:
        beyond = leaf_at(reflected(trip.begin_km + forward * (way_km + LEAF_KM / 2)))
        if beyond != here:
            leaves_us = trip.leaves_us + int(us_per_km * way_km)
            yield Move(leaves_us, leaves_us + gap_us, beyond)
            here = beyond
        way_km += LEAF_KM
