"""Four ways to choose a broker for every client, in one table [DYNATOPS, Alg. 1].

Two traps, measured by `lab run ours-placement`. Where interests are uniform, similarity makes
broker subscriptions change more often than static hosting does. Where clients come one after the
other, similarity gathers a whole cluster on one broker unless loads are bounded. The bounded
form saves most hand-overs and keeps loads even; under uniform interests static still changes less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import BoolArray, Int32Array, Int64Array
from meshwright.planning.placement.clients import (
    NO_BROKER,
    PlacementProblem,
    loads_counted_here,
    pairs_counted_here,
)
from meshwright.planning.placement.kernels.selection import (
    Choice,
    ClientArrays,
    SeatArrays,
    choose_seats,
)

DEFAULT_PLACEMENT = "similarity-bounded"

# One topic of five is a gain of 0.2, but 3/5 - 2/5 in floating point falls just short of it.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PlacementRules:
    """How utility is weighed.

    load_weight: w_l of Algorithm 1; loads average 1/|B|, so any positive weight breaks ties and
    only tens outweigh a topic. gain_min: theta, the least gain in utility that is worth a hand-over
    (bounded only). load_slack: eps; a broker serves at most ceil((1 + eps) * clients of its cluster
    / brokers of its cluster) clients (bounded only).
    """

    load_weight: float = 1.0
    gain_min: float = 0.2
    load_slack: float = 0.1

    def __post_init__(self) -> None:
        for name in ("load_weight", "gain_min", "load_slack"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ProblemError(f"{name} is {value}; choose a finite number, 0 or more.")


def static(
    problem: PlacementProblem, rules: PlacementRules, rng: np.random.Generator
) -> Int32Array:
    """A random broker for every newcomer; whoever has a broker keeps it."""
    del rules
    current = problem.clients.brokers
    return np.where(current == NO_BROKER, _random_brokers(problem, rng), current)


def location(
    problem: PlacementProblem, rules: PlacementRules, rng: np.random.Generator
) -> Int32Array:
    """The broker of the client's cell; a change of cell is a hand-over."""
    del rules, rng
    clients = problem.clients
    if clients.local_brokers is None:
        raise ProblemError(
            "Placement by location needs the places of clients and brokers; give their coordinates."
        )
    return np.where(_asking(problem), clients.local_brokers, clients.brokers)


def similarity(
    problem: PlacementProblem, rules: PlacementRules, rng: np.random.Generator
) -> Int32Array:
    """The broker of greatest utility in the client's cluster; ties stay, then least loaded, lowest.

    Util = |S_b n s_u| / |s_u| - w_l * L_b, the current broker without the client's own share.
    """
    arrays = _ClusterOrder.of(problem, rng)
    caps = np.full(arrays.cluster_count, problem.clients.count, dtype=np.int64)
    choice = Choice(_load_price(problem, rules), 0.0)
    return arrays.choose(problem, choice, caps)


def similarity_bounded(
    problem: PlacementProblem, rules: PlacementRules, rng: np.random.Generator
) -> Int32Array:
    """The best broker with room, and only for a gain of gain_min; a full broker is never entered.

    Clients are taken in order: one that asks gives up its place, then takes the best broker that
    is not full, or stays if its own is not and the gain is too small. Places of clients that
    come later are held for them until their turn, so if everybody asks no broker exceeds the cap.
    """
    arrays = _ClusterOrder.of(problem, rng)
    choice = Choice(_load_price(problem, rules), rules.gain_min - ROUNDING)
    return arrays.choose(problem, choice, arrays.caps(rules.load_slack))


def client_caps(problem: PlacementProblem, rules: PlacementRules) -> Int64Array:
    """Clients that each broker may have by the bounded form, all of them being there: (broker,)."""
    order = _ClusterOrder.of(problem, np.random.default_rng(0))  # nobody is left to chance
    _, clusters = np.unique(problem.clusters, return_inverse=True)
    caps: Int64Array = order.caps(rules.load_slack)[clusters]
    return caps


PlacementFunction = Callable[[PlacementProblem, PlacementRules, np.random.Generator], Int32Array]

PLACEMENTS: dict[str, PlacementFunction] = {
    "static": static,
    "location": location,
    "similarity": similarity,
    "similarity-bounded": similarity_bounded,
}


@dataclass(frozen=True, slots=True, eq=False)
class _ClusterOrder:
    """Brokers renumbered into seats by (cluster, broker), and the cluster of every client.

    brokers: broker of a seat, (seat,). seats: seat of a broker, (broker,).
    starts: first seat of a cluster, (cluster + 1,). homes: cluster of a client, (client,).
    """

    brokers: Int32Array
    seats: Int32Array
    starts: Int64Array
    homes: Int32Array

    @classmethod
    def of(cls, problem: PlacementProblem, rng: np.random.Generator) -> _ClusterOrder:
        """Clusters are numbered anew in ascending order, without gaps."""
        _, clusters = np.unique(problem.clusters, return_inverse=True)
        brokers = np.argsort(clusters, kind="stable").astype(np.int32)
        seats = np.empty_like(brokers)
        seats[brokers] = np.arange(len(brokers), dtype=np.int32)
        starts = np.concatenate(([0], np.cumsum(np.bincount(clusters)))).astype(np.int64)
        homes = clusters[_home_brokers(problem, rng)].astype(np.int32)
        return cls(brokers, seats, starts, homes)

    @property
    def cluster_count(self) -> int:
        return len(self.starts) - 1

    def caps(self, load_slack: float) -> Int64Array:
        """Clients that a broker may serve: (cluster,)."""
        client_counts = np.bincount(self.homes, minlength=self.cluster_count)
        means = client_counts / np.diff(self.starts)
        caps = np.ceil((1.0 + load_slack) * means - ROUNDING).astype(np.int64)
        # Rounding may not take the last place away.
        return np.maximum(caps, np.ceil(means).astype(np.int64))

    def choose(self, problem: PlacementProblem, choice: Choice, caps: Int64Array) -> Int32Array:
        """Broker of every client: (client,)."""
        clients, view = problem.clients, problem.view
        current = np.where(clients.brokers == NO_BROKER, NO_BROKER, self.seats[clients.brokers])
        asking = _asking(problem)
        client_arrays = ClientArrays(
            offsets=clients.interests.offsets,
            topics=clients.interests.columns,
            counted=pairs_counted_here(problem),
            seats=current.astype(np.int32),
            loads=loads_counted_here(problem),
            clusters=self.homes,
            asking=asking,
        )
        counts = np.ascontiguousarray(view.reference_counts[self.brokers].T)
        seat_arrays = SeatArrays(self.starts, counts > 0, counts, view.loads[self.brokers], caps)
        return self.brokers[
            choose_seats(client_arrays, seat_arrays, choice, self._occupants(current))
        ]

    def _occupants(self, current: Int32Array) -> Int64Array:
        """Clients on a seat of their own cluster: those of other clusters leave anyway: (seat,)."""
        seated = np.flatnonzero(current != NO_BROKER)
        clusters = np.repeat(np.arange(self.cluster_count), np.diff(self.starts))
        at_home = clusters[current[seated]] == self.homes[seated]
        return np.bincount(current[seated][at_home], minlength=len(self.brokers)).astype(np.int64)


def _home_brokers(problem: PlacementProblem, rng: np.random.Generator) -> Int32Array:
    """A broker of each client's own cluster: (client,)."""
    clients = problem.clients
    homes = clients.brokers
    if clients.local_brokers is not None:
        homes = np.where(_asking(problem), clients.local_brokers, homes)
    if bool(np.any(homes == NO_BROKER)):
        homes = np.where(homes == NO_BROKER, _random_brokers(problem, rng), homes)
    return homes


def _random_brokers(problem: PlacementProblem, rng: np.random.Generator) -> Int32Array:
    return rng.integers(problem.view.broker_count, size=problem.clients.count, dtype=np.int32)


def _asking(problem: PlacementProblem) -> BoolArray:
    newcomers: BoolArray = problem.clients.brokers == NO_BROKER
    if problem.asking is None:
        return np.ones_like(newcomers)
    return problem.asking | newcomers


def _load_price(problem: PlacementProblem, rules: PlacementRules) -> float:
    """Utility lost for each subscription that a broker carries."""
    return rules.load_weight / max(int(problem.view.loads.sum()), 1)
