"""The location model: users wander over a grid of cells with a broker in the middle of each."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from meshwright.model.interests import Int64Array
from meshwright.model.schema import (
    BROKERS,
    CONNECTIONS,
    DELAYS,
    FRIENDSHIPS,
    POSITIONS,
    PUBLICATIONS,
)
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.generators.blocks import (
    HOUR_US,
    TOPICS_PER_BLOCK,
    USERS_PER_BLOCK,
    BlockTable,
    Columns,
    Concern,
    block_count,
    names,
    stream,
)
from meshwright.pipeline.generators.parameters import LocationParameters
from meshwright.pipeline.generators.publications import hourly_rates, publication_columns
from meshwright.pipeline.generators.wandering import DAY_H, draw_paths, draw_stays, home_shares

EARTH_RADIUS_KM = 6371.0
EDGE_SHARE = 0.02  # nobody stands on the edge of a cell, where rounding would decide
DEGREE_DIGITS = 6


class Visits(NamedTuple):
    """Visits of a block: who, in which cell, from which hour to which; all (visit,)."""

    users: Int64Array
    cells: Int64Array
    begin_h: Float64Array
    end_h: Float64Array


def location_tables(parameters: LocationParameters) -> list[BlockTable]:
    """The tables of a trace of the model; a topic is a cell, published to like any other."""
    parameters.refuse_impossible()
    shares = home_shares(parameters)
    user_blocks = block_count(parameters.users, USERS_PER_BLOCK)
    cell_count = len(shares)
    published = partial(
        publication_columns,
        parameters,
        _cell_topics(parameters),
        hourly_rates(shares, parameters),
        parameters.days * DAY_H,
    )
    by_users = {
        POSITIONS: partial(_positions, parameters, shares),
        CONNECTIONS: partial(_connections, parameters, shares),
        FRIENDSHIPS: partial(_friendships, parameters),
    }
    return [
        *(BlockTable(table, user_blocks, block) for table, block in by_users.items()),
        BlockTable(PUBLICATIONS, block_count(cell_count, TOPICS_PER_BLOCK), published),
        BlockTable(BROKERS, 1, partial(_brokers, parameters)),
        BlockTable(DELAYS, cell_count, partial(_delays, parameters)),
    ]


def block_visits(parameters: LocationParameters, shares: Float64Array, block: int) -> Visits:
    """All visits of a block of users, user by user in the order of time."""
    rng = stream(parameters.seed, Concern.WANDERING, block)
    span_h = parameters.days * DAY_H
    counts = 1 + rng.poisson(max(parameters.visits_per_user - 1, 0), size=USERS_PER_BLOCK)
    if len(shares) == 1:
        counts[:] = 1  # there is nowhere else to go
    visit_count = int(counts.max())
    paths = draw_paths(parameters, rng, shares, user_count=USERS_PER_BLOCK, visit_count=visit_count)
    stays_h = draw_stays(parameters, rng, paths.shape)
    is_made = np.arange(visit_count) < counts[:, None]
    total_h = (stays_h * is_made).sum(axis=1)
    begin_h = rng.random(USERS_PER_BLOCK) * np.maximum(span_h - total_h, 0)
    ends_h = begin_h[:, None] + np.cumsum(stays_h, axis=1)
    begins_h = ends_h - stays_h
    users = block * USERS_PER_BLOCK + np.arange(USERS_PER_BLOCK)
    is_made &= (begins_h < span_h) & (users < parameters.users)[:, None]
    return Visits(
        np.broadcast_to(users[:, None], paths.shape)[is_made],
        paths[is_made],
        begins_h[is_made],
        np.minimum(ends_h[is_made], span_h),
    )


def _positions(parameters: LocationParameters, shares: Float64Array, block: int) -> Columns:
    """One check-in at the begin of each visit, and others while it lasts."""
    visits = block_visits(parameters, shares, block)
    rng = stream(parameters.seed, Concern.CHECKINS, block)
    others = rng.poisson(max(parameters.checkins_per_visit - 1, 0), size=len(visits.users))
    repeated = np.repeat(np.arange(len(others)), others + 1)
    is_first = np.r_[True, repeated[1:] != repeated[:-1]] if len(repeated) else repeated == 0
    part = np.where(is_first, 0.0, rng.random(len(repeated)))
    hours = visits.begin_h[repeated] + part * (visits.end_h - visits.begin_h)[repeated]
    cells = visits.cells[repeated]
    inside = EDGE_SHARE + (1 - 2 * EDGE_SHARE) * rng.random((2, len(repeated)))
    venues = rng.integers(parameters.venues_per_cell, size=len(repeated))
    order = np.lexsort((hours, visits.users[repeated]))
    south, west = _corners(parameters, cells)
    size = parameters.cell_degrees
    return {
        "time": parameters.begin_us() + (hours * HOUR_US).astype(np.int64)[order],
        "client": names("u", visits.users[repeated][order], parameters.users),
        "latitude": np.round(south + inside[0] * size, DEGREE_DIGITS)[order],
        "longitude": np.round(west + inside[1] * size, DEGREE_DIGITS)[order],
        "venue": names("v", (cells * parameters.venues_per_cell + venues)[order], 0),
    }


def _connections(parameters: LocationParameters, shares: Float64Array, block: int) -> Columns:
    """Everybody comes to the broker of their home when they are first seen."""
    visits = block_visits(parameters, shares, block)
    users, firsts = np.unique(visits.users, return_index=True)
    return {
        "time": parameters.begin_us() + (visits.begin_h[firsts] * HOUR_US).astype(np.int64),
        "client": names("u", users, parameters.users),
        "broker": names("b", visits.cells[firsts], len(shares)),
        "is_on": np.ones(len(users), dtype=np.bool_),
    }


def _friendships(parameters: LocationParameters, block: int) -> Columns:
    """Each user follows so many others, all different."""
    rng = stream(parameters.seed, Concern.FRIENDS, block)
    first = block * USERS_PER_BLOCK
    users = np.arange(first, min(first + USERS_PER_BLOCK, parameters.users))
    friends = np.tile(users[:, None], parameters.friends + 1)
    for place in range(1, parameters.friends + 1):
        pending = np.arange(len(users))
        while len(pending):
            drawn = rng.integers(parameters.users, size=len(pending))
            is_known = (friends[pending, :place] == drawn[:, None]).any(axis=1)
            friends[pending[~is_known], place] = drawn[~is_known]
            pending = pending[is_known]
    return {
        "client": names("u", np.repeat(users, parameters.friends), parameters.users),
        "friend": names("u", friends[:, 1:].ravel(), parameters.users),
    }


def _brokers(parameters: LocationParameters, _block: int) -> Columns:
    cells = np.arange(parameters.rows * parameters.columns)
    south, west = _corners(parameters, cells)
    return {
        "broker": names("b", cells, len(cells)),
        "latitude": south + parameters.cell_degrees / 2,
        "longitude": west + parameters.cell_degrees / 2,
        "capacity": [None] * len(cells),
        "site": [None] * len(cells),
    }


def _delays(parameters: LocationParameters, source: int) -> Columns:
    """Delays between a broker and all later ones, there and back: half a gamma-distributed RTT."""
    rng = stream(parameters.seed, Concern.DELAYS, source)
    count = parameters.rows * parameters.columns
    others = np.arange(source + 1, count)
    means_ms = parameters.rtt_least_ms + parameters.rtt_ms_per_km * _distances_km(
        parameters, source, others
    )
    delays_ms = rng.gamma(parameters.rtt_shape, means_ms / parameters.rtt_shape) / 2
    here, there = (
        names("b", np.full(len(others), source), count).to_pylist(),
        names("b", others, count).to_pylist(),
    )
    return {
        "source": here + there,
        "target": there + here,
        "delay_ms": np.concatenate((delays_ms, delays_ms)),
    }


def _distances_km(parameters: LocationParameters, source: int, others: Int64Array) -> Float64Array:
    """Along the sphere, between the middles of cells (haversine)."""
    south, west = _corners(parameters, np.append(others, source))
    north_rad, east_rad = np.radians(south), np.radians(west)
    half_north = (north_rad[:-1] - north_rad[-1]) / 2
    half_east = (east_rad[:-1] - east_rad[-1]) / 2
    share = np.sin(half_north) ** 2 + (
        np.cos(north_rad[:-1]) * np.cos(north_rad[-1]) * np.sin(half_east) ** 2
    )
    distances: Float64Array = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(share))
    return distances


def _corners(
    parameters: LocationParameters, cells: Int64Array
) -> tuple[Float64Array, Float64Array]:
    """South and west ends of cells, in degrees."""
    rows, columns = np.divmod(cells.astype(np.float64), parameters.columns)
    size = parameters.cell_degrees
    return parameters.south + rows * size, parameters.west + columns * size


def _cell_topics(parameters: LocationParameters) -> pa.Array:
    """The topic of each cell, named like those of visits."""
    cells = np.arange(parameters.rows * parameters.columns)
    middles = (end + parameters.cell_degrees / 2 for end in _corners(parameters, cells))
    north, east = (np.floor(end / parameters.cell_degrees).astype(int).tolist() for end in middles)
    return pa.array([f"cell/{n}/{e}" for n, e in zip(north, east, strict=True)])
