"""Algorithm 1 for many clients against one view, in client order [DYNATOPS, Alg. 1]."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array, Int64Array


class ClientArrays(NamedTuple):
    """Who asks. Pairs are rows of interests; seats and clusters are numbered as in SeatArrays.

    offsets: (client + 1,). topics, counted: (pair,). seats: the current one or -1, (client,).
    loads: what the view counts of a client at its seat, (client,). clusters: (client,).
    asking: (client,).
    """

    offsets: Int64Array
    topics: Int32Array
    counted: BoolArray
    seats: Int32Array
    loads: Int64Array
    clusters: Int32Array
    asking: BoolArray


class SeatArrays(NamedTuple):
    """Brokers in order of (cluster, broker), so that a cluster is a run of seats.

    starts: first seat of a cluster, (cluster + 1,). wants: whether the view has the topic there,
    (topic, seat). reference_counts: (topic, seat). loads: (seat,). caps: clients a seat may hold,
    (cluster,).
    """

    starts: Int64Array
    wants: BoolArray
    reference_counts: Int32Array
    loads: Int64Array
    caps: Int64Array


class Choice(NamedTuple):
    """How utility is weighed: load_weight / all subscriptions, and the least gain that moves."""

    load_price: float
    gain_min: float


@njit(cache=True)
def choose_seats(
    clients: ClientArrays, seats: SeatArrays, choice: Choice, occupants: Int64Array
) -> Int32Array:
    """The seat of every client, one client after the other: (client,).

    occupants: clients that hold a seat of their own cluster at the start, (seat,). A client leaves
    its place before it chooses, so capacity is filled in client order.
    """
    held = occupants.copy()
    chosen = clients.seats.copy()
    hits = np.zeros(len(seats.loads), dtype=np.int32)
    penalties = choice.load_price * seats.loads
    for client in range(len(chosen)):
        if not clients.asking[client]:
            continue
        cluster = clients.clusters[client]
        start, stop = seats.starts[cluster], seats.starts[cluster + 1]
        current = clients.seats[client]
        at_home = start <= current < stop
        if at_home:
            held[current] -= 1
        _count_hits(clients, seats, client, hits)
        size = max(clients.offsets[client + 1] - clients.offsets[client], 1)
        cap = seats.caps[cluster]
        best, best_utility = -1, -np.inf
        for seat in range(start, stop):
            if seat == current or held[seat] >= cap:
                continue
            utility = hits[seat] / size - penalties[seat]
            if utility > best_utility or (
                utility == best_utility and seats.loads[seat] < seats.loads[best]
            ):
                best, best_utility = seat, utility
        if at_home and held[current] < cap:
            load = seats.loads[current] - clients.loads[client]
            stay = _own_hits(clients, seats, client) / size - choice.load_price * load
            gain = best_utility - stay
            if best < 0 or gain <= 0.0 or gain < choice.gain_min:
                best = current
        held[best] += 1
        chosen[client] = best
    return chosen


@njit(cache=True)
def _count_hits(clients: ClientArrays, seats: SeatArrays, client: int, hits: Int32Array) -> None:
    """Topics of the client that each seat of its cluster already has."""
    cluster = clients.clusters[client]
    start, stop = seats.starts[cluster], seats.starts[cluster + 1]
    hits[start:stop] = 0
    for pair in range(clients.offsets[client], clients.offsets[client + 1]):
        wants = seats.wants[clients.topics[pair]]
        for seat in range(start, stop):
            hits[seat] += wants[seat]


@njit(cache=True)
def _own_hits(clients: ClientArrays, seats: SeatArrays, client: int) -> int:
    """Topics of the client that its own seat would have without it."""
    current = clients.seats[client]
    hits = 0
    for pair in range(clients.offsets[client], clients.offsets[client + 1]):
        others = seats.reference_counts[clients.topics[pair], current] - clients.counted[pair]
        hits += others > 0
    return hits
