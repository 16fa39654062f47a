"""How users of the location model wander: from cell to cell, and how long they stay.

Exploration and preferential return [Song et al., Nature Physics 2010]: a user who knows S cells
goes to a new one with probability share * S ** -decay, else back to one it knows, the more likely
the more often it was there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meshwright.model.interests import Int64Array
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.generators.blocks import Concern, stream
from meshwright.pipeline.generators.parameters import MIDDLE_DAYS_MIN, LocationParameters

DAY_H = 24.0
JUMPS_TRIED_MAX = 32


def home_shares(parameters: LocationParameters) -> Float64Array:
    """Probability that a user's home is in a cell, (cell,): by rank, the ranks at random places."""
    count = parameters.rows * parameters.columns
    ranks = stream(parameters.seed, Concern.POPULATION, 0).permutation(count) + 1.0
    weights = ranks**-parameters.population_exponent
    shares: Float64Array = weights / weights.sum()
    return shares


def draw_stays(
    parameters: LocationParameters, rng: np.random.Generator, shape: tuple[int, int]
) -> Float64Array:
    """Hours until the next cell: short, middle or long."""
    kind = rng.random(shape)
    short = parameters.short_median_hours * np.exp(
        parameters.short_sigma * rng.standard_normal(shape)
    )
    middle = DAY_H * rng.uniform(MIDDLE_DAYS_MIN, parameters.middle_days_max, shape)
    low, high = DAY_H * parameters.middle_days_max, DAY_H * parameters.long_days_max
    beyond = 1 - rng.random(shape) * (1 - (low / high) ** parameters.long_exponent)
    long = low * beyond ** (-1 / parameters.long_exponent)
    is_long = kind >= parameters.short_share + parameters.middle_share
    return np.where(kind < parameters.short_share, short, np.where(is_long, long, middle))


def draw_paths(
    parameters: LocationParameters,
    rng: np.random.Generator,
    shares: Float64Array,
    *,
    user_count: int,
    visit_count: int,
) -> Int64Array:
    """The cells that users visit, first their homes: (user, visit); no cell twice in a row."""
    users = np.arange(user_count)
    cumulated = np.cumsum(shares)
    paths = np.empty((user_count, visit_count), dtype=np.int64)
    paths[:, 0] = np.minimum(
        np.searchsorted(cumulated, rng.random(user_count), "right"), len(shares) - 1
    )
    known = np.full((user_count, visit_count), -1, dtype=np.int64)
    known[:, 0] = paths[:, 0]
    times_seen = np.zeros((user_count, visit_count), dtype=np.int64)
    times_seen[:, 0] = 1
    known_counts = np.ones(user_count, dtype=np.int64)
    places = np.zeros(user_count, dtype=np.int64)  # of the present cell among those known
    for visit in range(1, visit_count):
        chance = parameters.explore_share * known_counts**-parameters.explore_decay
        explores = (rng.random(user_count) < chance) | (known_counts == 1)
        explores &= known_counts < len(shares)
        weights = times_seen.copy()
        weights[users, places] = 0
        cumulated_visits = np.cumsum(weights, axis=1)
        luck = rng.random(user_count) * cumulated_visits[:, -1]
        returned = (cumulated_visits > luck[:, None]).argmax(axis=1)
        places = np.where(explores, known_counts, returned)
        fresh = _explored(parameters, rng, paths[explores, visit - 1], known[explores])
        known[explores, known_counts[explores]] = fresh
        known_counts += explores
        times_seen[users, places] += 1
        paths[:, visit] = known[users, places]
    return paths


def _explored(
    parameters: LocationParameters,
    rng: np.random.Generator,
    origins: Int64Array,
    known: Int64Array,
) -> Int64Array:
    """A cell that each user does not know: jumped to, or after many jumps astray any at all."""
    found = np.full(len(origins), -1, dtype=np.int64)
    pending = np.arange(len(origins))
    tries = 0
    while len(pending):
        if tries < JUMPS_TRIED_MAX:
            cells, is_inside = _jumped(parameters, rng, origins[pending])
        else:
            cells = rng.integers(parameters.rows * parameters.columns, size=len(pending))
            is_inside = np.ones(len(pending), dtype=np.bool_)
        is_new = is_inside & ~(known[pending] == cells[:, None]).any(axis=1)
        found[pending[is_new]] = cells[is_new]
        pending = pending[~is_new]
        tries += 1
    return found


def _jumped(
    parameters: LocationParameters, rng: np.random.Generator, origins: Int64Array
) -> tuple[Int64Array, NDArray[np.bool_]]:
    """Cells at a heavy-tailed distance in any direction, and whether they are on the grid."""
    longest = float(parameters.rows + parameters.columns)
    lengths = np.minimum((1 - rng.random(len(origins))) ** (-1 / parameters.jump_exponent), longest)
    angles = rng.uniform(0, 2 * np.pi, len(origins))
    rows = np.rint(origins // parameters.columns + lengths * np.sin(angles)).astype(np.int64)
    columns = np.rint(origins % parameters.columns + lengths * np.cos(angles)).astype(np.int64)
    is_inside = (rows >= 0) & (rows < parameters.rows)
    is_inside &= (columns >= 0) & (columns < parameters.columns)
    return rows * parameters.columns + columns, is_inside
