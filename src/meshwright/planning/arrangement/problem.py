"""The arrangement problem: brokers with interests on one side, positions with routes on the other.

An arrangement is an array of positions, (broker,): every position is taken by exactly one broker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import CallerError, ProblemError
from meshwright.model.identifiers import BrokerName, hash_order
from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_geometries import NEAREST
from meshwright.overlays.key_geometries import roots as topic_roots
from meshwright.planning.evaluation.publishers import publisher_weights


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What an arrangement is judged by.

    roots: the position that owns each topic, (topic,). delay_costs: hops from the roots of a
    broker's topics to a position, summed over their publications, (broker, position). hop_costs:
    what a hop from one broker to another counts where delays are known, one in the mean,
    (broker, broker); else empty, and every hop counts one. entry_costs: what publications that
    enter at a broker take to the roots of their topics, (broker, position); 0 where it is not asked
    for, or where publishers may be anywhere and every arrangement has the same.
    """

    snapshot: Snapshot
    geometry: KeyGeometry
    delay_weight: float
    roots: Int32Array
    delay_costs: Float64Array
    hop_costs: Float64Array
    entry_costs: Float64Array

    def __post_init__(self) -> None:
        self.hop_costs.setflags(write=False)
        self.roots.setflags(write=False)
        self.delay_costs.setflags(write=False)
        self.entry_costs.setflags(write=False)

    @property
    def knows_delays(self) -> bool:
        """Whether hops differ in length."""
        return len(self.hop_costs) > 0

    @property
    def broker_count(self) -> int:
        return len(self.snapshot.brokers)

    @property
    def topic_count(self) -> int:
        return len(self.snapshot.topics)


def arrangement_problem(
    snapshot: Snapshot,
    geometry: KeyGeometry,
    delay_weight: float = 1.0,
    *,
    with_ways_in: bool = False,
) -> Problem:
    """The problem of a snapshot on a geometry with one position for each broker.

    with_ways_in: the cost is not the paper's alone, which begins at the roots of topics.
    """
    if len(snapshot.brokers) != geometry.position_count:
        raise CallerError(
            f"{len(snapshot.brokers)} brokers cannot take {geometry.position_count} positions; "
            "give the geometry one position for each broker."
        )
    if not (np.isfinite(delay_weight) and delay_weight >= 0.0):
        raise ProblemError(f"The delay weight is {delay_weight}; give a finite one, zero or more.")
    if not bool(np.all(np.isfinite(snapshot.publications) & (snapshot.publications >= 0.0))):
        raise ProblemError("A topic's publications must be finite and not negative; correct them.")
    if geometry.params.get("neighbours") == NEAREST:
        raise ProblemError(
            "Brokers that have the nearest for neighbours cannot change places among themselves; "
            "arrange them on an overlay with neighbours=mirror."
        )
    roots = topic_roots(geometry, snapshot.topics)
    delay_costs = _delay_costs(snapshot, geometry, roots)
    weights = publisher_weights(snapshot) if with_ways_in else None
    entry_costs = np.zeros_like(delay_costs)
    if weights is not None:
        entry_costs = _entry_costs(snapshot, geometry, roots, weights, delay_weight)
    return Problem(
        snapshot, geometry, float(delay_weight), roots, delay_costs, _hop_costs(snapshot),
        entry_costs,
    )  # fmt: skip


def hash_positions(brokers: tuple[BrokerName, ...]) -> Int32Array:
    """The `hash` arrangement: positions in order go to brokers in the order of their hashes."""
    positions = np.empty(len(brokers), dtype=np.int32)
    positions[hash_order(brokers)] = np.arange(len(brokers), dtype=np.int32)
    return positions


def _entry_costs(
    snapshot: Snapshot,
    geometry: KeyGeometry,
    roots: Int32Array,
    weights: Float64Array,
    delay_weight: float,
) -> Float64Array:
    """A hop on the way in is a message, and all who want the topic wait for it."""
    waiting = 1.0 + delay_weight * snapshot.interests.transposed().counts()
    used_roots, trees = np.unique(roots, return_inverse=True)
    order = np.argsort(trees, kind="stable")
    begins = np.searchsorted(trees[order], np.arange(len(used_roots)))
    each = weights * (snapshot.publications * waiting / len(weights))
    sent = np.add.reduceat(each[:, order], begins, axis=1)
    grows_down = geometry.tree_direction == "root_to_member"
    hops = geometry.hops[:, used_roots] if grows_down else geometry.hops.T[:, used_roots]
    entry_costs: Float64Array = sent @ hops.T.astype(np.float64)
    return entry_costs


def _hop_costs(snapshot: Snapshot) -> Float64Array:
    """Empty also where all brokers are equally far: a hop is a hop then, and found faster so."""
    hop_ms = snapshot.hop_ms
    if snapshot.delays_ms is None or hop_ms is None or _are_equally_far(snapshot.delays_ms):
        return np.empty((0, 0), dtype=np.float64)
    costs: Float64Array = snapshot.delays_ms / hop_ms
    return costs


def _are_equally_far(delays_ms: Float64Array) -> bool:
    ways = delays_ms[~np.eye(len(delays_ms), dtype=np.bool_)]
    return bool(ways.min() == ways.max())


def _delay_costs(snapshot: Snapshot, geometry: KeyGeometry, roots: Int32Array) -> Float64Array:
    """Hops from the roots of a broker's topics, times publications: (broker, position)."""
    interests = snapshot.interests
    used_roots, trees = np.unique(roots, return_inverse=True)
    cells = interests.row_of_pairs().astype(np.int64) * len(used_roots) + trees[interests.columns]
    sums = np.bincount(
        cells,
        weights=snapshot.publications[interests.columns],
        minlength=interests.row_count * len(used_roots),
    )
    received = sums.reshape(interests.row_count, len(used_roots)).astype(np.float64)
    delay_costs: Float64Array = received @ geometry.hops[used_roots].astype(np.float64)
    return delay_costs
