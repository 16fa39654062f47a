"""One broker against all others at once: what a swap with each of them would change.

The same figures as swap by swap, but each tree is looked at once and not once for each partner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from meshwright.model.interests import BoolArray, Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.swaps import Seating, Tables


class Ledger(NamedTuple):
    """What is noted of each position: (position,).

    relayed: publications relayed more, if the broker swapped with the one there.
    lengths: positions that a tree would grow by to reach this one.
    is_held: only the broker keeps this position in the tree. is_member: a member sits there.
    """

    relayed: Float64Array
    lengths: Int32Array
    is_held: BoolArray
    is_member: BoolArray


@njit(cache=True)
def partner_changes(tables: Tables, seating: Seating, first: int) -> Float64Array:
    """By how much the cost would grow if a broker swapped with each other: (broker,).

    The broker's own entry means nothing.
    """
    positions = seating.positions
    here = positions[first]
    ledger = Ledger(
        np.zeros(len(positions), dtype=np.float64),
        np.zeros(len(positions), dtype=np.int32),
        np.zeros(len(positions), dtype=np.bool_),
        np.zeros(len(positions), dtype=np.bool_),
    )
    wanted, wanted_end = tables.offsets[first], tables.offsets[first + 1]
    for topic in range(len(tables.publications)):
        if wanted < wanted_end and tables.topics[wanted] == topic:
            wanted += 1
            _note_departure(tables, seating, ledger, topic, here)
        else:
            _note_arrivals(tables, seating, ledger, topic, here)
    costs = tables.assignment_costs
    changes = np.zeros(len(positions), dtype=np.float64)
    for second in range(len(positions)):
        there = positions[second]
        changes[second] = costs[first, there] + costs[second, here] + ledger.relayed[there]
        changes[second] -= costs[first, here] + costs[second, there]
    return changes


@njit(cache=True)
def _note_departure(
    tables: Tables, seating: Seating, ledger: Ledger, topic: int, here: int
) -> None:
    """The broker takes a topic along to each place that has no member of it."""
    counts = seating.counts[topic]
    tree = tables.trees[topic]
    parents, descent = tables.parents[tree], tables.descents[tree]
    members = tables.members[tables.member_offsets[topic] : tables.member_offsets[topic + 1]]
    for member in members:
        ledger.is_member[seating.positions[member]] = True
    held, position = 0, here
    while counts[position] == 1:
        ledger.is_held[position] = True
        held += 1
        position = parents[position]
    root, rate = descent[0], tables.publications[topic]
    # Members are no relays, and neither member nor relay is counted at the root.
    saved = held - int(here != root)
    ledger.lengths[root] = 0
    if not ledger.is_member[root]:
        ledger.relayed[root] -= rate * saved
    for position in descent[1:]:
        is_free = counts[position] == 0 or ledger.is_held[position]
        length = ledger.lengths[parents[position]] + 1 if is_free else 0
        ledger.lengths[position] = length
        if not ledger.is_member[position]:
            ledger.relayed[position] += rate * (length - 1 - saved)
    for member in members:
        ledger.is_member[seating.positions[member]] = False
    position = here
    while counts[position] == 1:
        ledger.is_held[position] = False
        position = parents[position]


@njit(cache=True)
def _note_arrivals(tables: Tables, seating: Seating, ledger: Ledger, topic: int, here: int) -> None:
    """Each member of a topic that the broker does not want takes it along to the broker's place."""
    counts = seating.counts[topic]
    tree = tables.trees[topic]
    parents, root = tables.parents[tree], tables.roots[tree]
    gained, meeting = -int(here != root), here
    while counts[meeting] == 0:
        gained += 1
        meeting = parents[meeting]
    for pair in range(tables.member_offsets[topic], tables.member_offsets[topic + 1]):
        there = seating.positions[tables.members[pair]]
        relays, above = gained + int(there != root), there
        while counts[above] == 1 and above != meeting:
            relays -= 1
            above = parents[above]
        ledger.relayed[there] += tables.publications[topic] * relays
