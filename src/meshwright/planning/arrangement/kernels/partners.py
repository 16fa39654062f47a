"""One broker against all others at once: what a swap with each of them would change.

The same figures as swap by swap, but a tree is looked at once and not once for each partner.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.reach import Reach, below, meeting_of, positions_held


@njit(cache=True)
def partner_changes(reach: Reach, first: int) -> Float64Array:
    """By how much the cost would grow if a broker swapped with each other: (broker,).

    The broker's own entry means nothing.
    """
    tables, positions = reach.tables, reach.seating.positions
    here = positions[first]
    changes = _arrivals(reach, first)
    departures = _departures(reach, first)
    costs = tables.assignment_costs
    for second in range(len(positions)):
        there = positions[second]
        changes[second] += costs[first, there] + costs[second, here] + departures[there]
        changes[second] -= costs[first, here] + costs[second, there]
    return changes


@njit(cache=True)
def _departures(reach: Reach, first: int) -> Float64Array:
    """Publications relayed more if a broker took its topics along to where others sit: (position,).

    A topic goes only to places that have no member of it.
    """
    tables, positions = reach.tables, reach.seating.positions
    here = positions[first]
    relayed = np.zeros(len(positions), dtype=np.float64)
    before = np.zeros(len(positions), dtype=np.float64)
    for pair in range(tables.offsets[first], tables.offsets[first + 1]):
        topic = tables.topics[pair]
        tree, rate, growths = tables.trees[topic], tables.publications[topic], reach.growths[topic]
        root, parents, depths = tables.roots[tree], tables.parents[tree], tables.depths[tree]
        held, top = positions_held(reach.seating.counts[topic], parents, root, here)
        # What is below positions that the broker alone holds is farther away without it.
        parted = below(tables, tree, top)[: len(growths) * int(held > 0)]
        members = tables.members[tables.member_offsets[topic] : tables.member_offsets[topic + 1]]
        for position in parted:
            before[position] = relayed[position]
        for member in members:
            before[positions[member]] = relayed[positions[member]]
        gained = reach.relays_left[pair] - 1
        for position in range(len(relayed)):
            relayed[position] += rate * (growths[position] + gained)
        for position in parted:
            growth = depths[position] - depths[top] + 1
            relayed[position] = before[position] + rate * (growth + gained)
        for member in members:
            relayed[positions[member]] = before[positions[member]]
    return relayed


@njit(cache=True)
def _arrivals(reach: Reach, first: int) -> Float64Array:
    """Publications relayed more if others took their topics along to a broker's place: (broker,).

    A topic comes only if the broker does not want it itself.
    """
    tables, here = reach.tables, reach.seating.positions[first]
    relayed = np.zeros(len(tables.offsets) - 1, dtype=np.float64)
    rates = tables.publications.copy()
    rates[tables.topics[tables.offsets[first] : tables.offsets[first + 1]]] = 0.0
    gained = np.empty(len(rates), dtype=np.float64)
    for topic in range(len(rates)):
        counts, tree = reach.seating.counts[topic], tables.trees[topic]
        gained[topic] = reach.growths[topic, here] - 1
        meeting = meeting_of(counts, tables.parents[tree], here)
        held, _ = positions_held(counts, tables.parents[tree], tables.roots[tree], meeting)
        if held > 0:
            # What one member alone held is needed by it now.
            holder = reach.occupants[reach.place_sums[topic, meeting]]
            relayed[holder] += rates[topic] * held
    for broker in range(len(relayed)):
        for pair in range(tables.offsets[broker], tables.offsets[broker + 1]):
            topic = tables.topics[pair]
            relayed[broker] += rates[topic] * (gained[topic] + reach.relays_left[pair])
    return relayed
