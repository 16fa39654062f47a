"""Clients of one cluster that come, ask again, and go, slot by slot [DYNATOPS, Alg. 1].

Who asks in a slot decides on a view of the end of the slot before. Newcomers are seated in small
batches that see those before them: on one view of an empty cluster all would choose the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.interests import BoolArray, Int32Array, Int64Array, Interests
from meshwright.planning.placement.clients import (
    NO_BROKER,
    BrokerView,
    Clients,
    PlacementProblem,
)
from meshwright.planning.placement.clusters import one_cluster
from meshwright.planning.placement.strategies import PLACEMENTS, PlacementRules

NEWCOMERS_MIN = 64  # newcomers in a batch, at least
NEWCOMERS_SHARE = 0.05  # of those seated already, where that is more


@dataclass(frozen=True, slots=True, eq=False)
class Asks:
    """Who asks, in order: (ask,) each, slots ascending, no client twice in a slot.

    clients: numbers from 0. interests: asks by topics, what the client wants from then on.
    leaving: the client leaves the cluster instead.
    """

    slots: Int64Array
    clients: Int64Array
    interests: Interests
    leaving: BoolArray

    def __post_init__(self) -> None:
        lengths = {len(self.slots), len(self.clients), self.interests.row_count, len(self.leaving)}
        if len(lengths) != 1 or bool(np.any(np.diff(self.slots) < 0)):
            raise CallerError("asks differ in number or are not in the order of their slots")


def place_over_time(
    asks: Asks,
    broker_count: int,
    method: str,
    rng: np.random.Generator,
    *,
    rules: PlacementRules,
    network_loads: Int64Array | None = None,
) -> Int32Array:
    """The broker of every asking client from then on, NO_BROKER for one that leaves: (ask,).

    network_loads: subscriptions in the whole network at the end of each slot, (slot,), where this
    cluster is not all of it.
    """
    cluster = _Cluster(asks, broker_count, method, rules)
    chosen = np.full(len(asks.slots), NO_BROKER, dtype=np.int32)
    for slot, rows in _by_slot(asks.slots):
        before = None if network_loads is None or slot == 0 else int(network_loads[slot - 1])
        cluster.dismiss(asks.clients[rows[asks.leaving[rows]]])
        for batch in cluster.batches(rows[~asks.leaving[rows]]):
            chosen[batch] = cluster.seat(batch, before, rng)
    return chosen


class _Cluster:
    """Where the clients of a cluster are while its asks are answered."""

    def __init__(self, asks: Asks, broker_count: int, method: str, rules: PlacementRules) -> None:
        client_count = int(asks.clients.max(initial=-1)) + 1
        self.asks = asks
        self.choose = PLACEMENTS[method]
        self.rules = rules
        self.clusters = one_cluster(broker_count)
        self.brokers = np.full(client_count, NO_BROKER, dtype=np.int32)
        self.latest = np.full(client_count, -1, dtype=np.int64)
        self.counts = np.zeros((broker_count, asks.interests.column_count), dtype=np.int32)

    def dismiss(self, clients: Int64Array) -> None:
        self._count(clients, -1)
        self.brokers[clients] = NO_BROKER
        self.latest[clients] = -1

    def batches(self, rows: Int64Array) -> Iterator[Int64Array]:
        """Those who have a broker at once, then newcomers batch by batch."""
        is_new = self.brokers[self.asks.clients[rows]] == NO_BROKER
        if not bool(is_new.all()):
            yield rows[~is_new]
        newcomers = rows[is_new]
        while len(newcomers):
            seated = int(np.count_nonzero(self.brokers != NO_BROKER))
            size = max(NEWCOMERS_MIN, int(NEWCOMERS_SHARE * seated))
            yield newcomers[:size]
            newcomers = newcomers[size:]

    def seat(
        self, rows: Int64Array, network_load: int | None, rng: np.random.Generator
    ) -> Int32Array:
        """Brokers for some asks, all on the view as it is: (ask,)."""
        problem = self._problem(rows)
        brokers = self.choose(problem, self._scaled(problem.view, network_load), rng)[-len(rows) :]
        clients = self.asks.clients[rows]
        self._count(clients, -1)
        self.brokers[clients] = brokers
        self.latest[clients] = rows
        self._count(clients, 1)
        return brokers

    def _problem(self, rows: Int64Array) -> PlacementProblem:
        """Everybody in the cluster, those who ask last and in their order."""
        asking_clients = self.asks.clients[rows]
        is_other = self.brokers != NO_BROKER
        is_other[asking_clients] = False
        others = np.flatnonzero(is_other)
        everybody = np.concatenate((others, asking_clients))
        now = np.concatenate((self.latest[others], rows))
        asking = np.zeros(len(everybody), dtype=np.bool_)
        asking[len(others) :] = True
        brokers = self.brokers[everybody]
        return PlacementProblem(
            Clients(_rows_of(self.asks.interests, now), brokers),
            BrokerView(self.counts.copy(), self.counts.sum(axis=1, dtype=np.int64)),
            self.clusters,
            viewed=Clients(_rows_of(self.asks.interests, self.latest[everybody]), brokers.copy()),
            asking=asking,
        )

    def _scaled(self, view: BrokerView, network_load: int | None) -> PlacementRules:
        """A broker's load is its share of the whole network's."""
        if network_load is None:
            return self.rules
        share = int(view.loads.sum()) / max(network_load, 1)
        return replace(self.rules, load_weight=self.rules.load_weight * share)

    def _count(self, clients: Int64Array, change: int) -> None:
        """Count what clients want at their brokers, or count it no more."""
        seated = clients[self.latest[clients] >= 0]
        wants = _rows_of(self.asks.interests, self.latest[seated])
        hosts = np.repeat(self.brokers[seated], wants.counts())
        np.add.at(self.counts, (hosts, wants.columns), change)


def _by_slot(slots: Int64Array) -> Iterator[tuple[int, Int64Array]]:
    """Each slot that has asks, and their rows."""
    starts = np.flatnonzero(np.diff(slots, prepend=-1))
    for rows in np.split(np.arange(len(slots)), starts[1:]):
        if len(rows):
            yield int(slots[rows[0]]), rows


def _rows_of(interests: Interests, rows: Int64Array) -> Interests:
    """Some rows of interests, in their order; -1 is one that wants nothing."""
    counts = np.where(rows < 0, 0, interests.counts()[rows])
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    starts = np.repeat(interests.offsets[rows] - offsets[:-1], counts)
    columns = interests.columns[starts + np.arange(offsets[-1])]
    return Interests(interests.column_count, offsets, columns)
