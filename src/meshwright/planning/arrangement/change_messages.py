"""What a change of positions really sends, message by message in closed form [DYNATOPS, III.D.4].

Equation 11 is a bound with every constant taken as one, and decides whether a plan pays. This
counts the hops of the blocking protocol itself, as `protocol/reconfiguration/blocking.py` sends
them, with a manager that is none of the brokers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.model.designs import design
from meshwright.model.identifiers import topic_key
from meshwright.model.interests import Int32Array, Int64Array, Interests
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_geometries import owners
from meshwright.planning.arrangement.seats import read_seats


@dataclass(frozen=True, slots=True)
class ChangeMessages:
    """Messages of a change, each hop one.

    told: RCFG_INIT and RCFG_FINISH to all brokers. ordered: to moved brokers and back, two orders
    with an answer each. rejoined: lookups of new neighbours on the old ring, and their answers.
    shipped: tables to the heirs of positions, on the new ring. repaired: joins and leaves of topic
    trees, to the root and back down.
    """

    told: int = 0
    ordered: int = 0
    rejoined: int = 0
    shipped: int = 0
    repaired: int = 0

    @property
    def total(self) -> int:
        return self.told + self.ordered + self.rejoined + self.shipped + self.repaired


def change_messages(source: Overlay, target: Overlay, snapshot: Snapshot) -> ChangeMessages:
    """From one arrangement of brokers to another on the same positions; none if nobody moves."""
    shape = design(source.design).geometry
    geometry, before = read_seats(source, snapshot, shape)
    after = read_seats(target, snapshot, shape)[1]
    moved = np.flatnonzero(before != after)
    if len(moved) == 0:
        return ChangeMessages()
    hops = geometry.hops if geometry.tree_direction == "root_to_member" else geometry.hops.T
    return ChangeMessages(
        told=2 * len(before),
        ordered=4 * len(moved),
        rejoined=_rejoined(geometry, hops, before, after),
        shipped=int(hops[after[moved], before[moved]].sum()),
        repaired=_repaired(geometry, hops, (before, after), snapshot),
    )


def _rejoined(
    geometry: KeyGeometry, hops: Int32Array, before: Int32Array, after: Int32Array
) -> int:
    """Each moved broker looks for its new neighbours, and each of them answers straight."""
    sitting = np.argsort(after)
    ends = sitting[np.concatenate([geometry.links, geometry.links[:, ::-1]])]
    seeking = ends[before[ends[:, 0]] != after[ends[:, 0]]]
    return int(hops[before[seeking[:, 0]], before[seeking[:, 1]]].sum()) + len(seeking)


def _repaired(
    geometry: KeyGeometry,
    hops: Int32Array,
    seats: tuple[Int32Array, Int32Array],
    snapshot: Snapshot,
) -> int:
    """Where who sits on a position now wants another than who sat there: (topic, position)."""
    former, present = (_pairs_by_position(snapshot.interests, positions) for positions in seats)
    pairs = np.setxor1d(former, present, assume_unique=True)
    topics, places = np.divmod(pairs, len(seats[0]))
    keys = np.array([topic_key(topic) for topic in snapshot.topics], dtype=np.int64)
    roots = owners(geometry, keys)[topics]
    return int((hops[places, roots] + hops[roots, places]).sum())


def _pairs_by_position(interests: Interests, positions: Int32Array) -> Int64Array:
    """Topic and position of every interest, as one number: (pair,)."""
    places = positions[interests.row_of_pairs()]
    return interests.columns.astype(np.int64) * len(positions) + places
