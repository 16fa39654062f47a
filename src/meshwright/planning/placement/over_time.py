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
    life = ClusterLife(broker_count, method, rng, rules=rules, network_loads=network_loads)
    chosen = [np.empty(0, dtype=np.int32)]
    for rows in _by_slot(asks.slots):
        wants = _rows_of(asks.interests, rows)
        chosen.append(
            life.answer(Asks(asks.slots[rows], asks.clients[rows], wants, asks.leaving[rows]))
        )
    return np.concatenate(chosen)


class ClusterLife:
    """Where the clients of a cluster are by now, and what they want: no more of what has been.

    Clients are numbered as they come; so are topics, and there may be more of them in every slot.
    """

    def __init__(
        self,
        broker_count: int,
        method: str,
        rng: np.random.Generator,
        *,
        rules: PlacementRules,
        network_loads: Int64Array | None = None,
    ) -> None:
        self._choose = PLACEMENTS[method]
        self._rng = rng
        self._rules = rules
        self._network_loads = network_loads
        self._clusters = one_cluster(broker_count)
        self._brokers = np.empty(0, dtype=np.int32)
        self._latest = np.empty(0, dtype=np.int64)  # the row of each client's wants, or -1
        self._wants = Interests(0, np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32))
        self._counts = np.zeros((broker_count, 0), dtype=np.int32)

    @property
    def held_rows(self) -> int:
        """Wants that are in memory; of each client those of now, and some of before."""
        return self._wants.row_count

    def answer(self, asks: Asks) -> Int32Array:
        """The broker of every client that asks in the next slot, NO_BROKER if it leaves: (ask,)."""
        slot = int(asks.slots[0])
        loads = self._network_loads
        before = None if loads is None or slot == 0 else int(loads[slot - 1])
        self._make_room(asks)
        rows = self._wants.row_count + np.arange(len(asks.slots))
        self._wants = _joined(self._wants, asks.interests)
        chosen = np.full(len(rows), NO_BROKER, dtype=np.int32)
        self._dismiss(asks.clients[asks.leaving])
        for batch in self._batches(asks.clients, np.flatnonzero(~asks.leaving)):
            chosen[batch] = self._seat(asks.clients[batch], rows[batch], before)
        self._forget()
        return chosen

    def _make_room(self, asks: Asks) -> None:
        """For clients and topics that were never seen before."""
        clients = max(int(asks.clients.max()) + 1 - len(self._brokers), 0)
        topics = max(asks.interests.column_count - self._counts.shape[1], 0)
        if clients:
            self._brokers = np.pad(self._brokers, (0, clients), constant_values=NO_BROKER)
            self._latest = np.pad(self._latest, (0, clients), constant_values=-1)
        if topics:
            self._counts = np.pad(self._counts, ((0, 0), (0, topics)))

    def _forget(self) -> None:
        """What was wanted formerly, once that is the greater part."""
        seated = np.flatnonzero(self._latest >= 0)
        if self._wants.row_count > 2 * len(seated):
            self._wants = _rows_of(self._wants, self._latest[seated])
            self._latest[seated] = np.arange(len(seated))

    def _dismiss(self, clients: Int64Array) -> None:
        self._count(clients, -1)
        self._brokers[clients] = NO_BROKER
        self._latest[clients] = -1

    def _batches(self, clients: Int64Array, asking: Int64Array) -> Iterator[Int64Array]:
        """Those who have a broker at once, then newcomers batch by batch."""
        is_new = self._brokers[clients[asking]] == NO_BROKER
        if not bool(is_new.all()):
            yield asking[~is_new]
        newcomers = asking[is_new]
        while len(newcomers):
            seated = int(np.count_nonzero(self._brokers != NO_BROKER))
            size = max(NEWCOMERS_MIN, int(NEWCOMERS_SHARE * seated))
            yield newcomers[:size]
            newcomers = newcomers[size:]

    def _seat(self, clients: Int64Array, rows: Int64Array, network_load: int | None) -> Int32Array:
        """Brokers for some clients with new wants, all on the view as it is: (client,)."""
        problem = self._problem(clients, rows)
        rules = self._scaled(problem.view, network_load)
        brokers = self._choose(problem, rules, self._rng)[-len(rows) :]
        self._count(clients, -1)
        self._brokers[clients] = brokers
        self._latest[clients] = rows
        self._count(clients, 1)
        return brokers

    def _problem(self, clients: Int64Array, rows: Int64Array) -> PlacementProblem:
        """Everybody in the cluster, those who ask last and in their order."""
        is_other = self._brokers != NO_BROKER
        is_other[clients] = False
        others = np.flatnonzero(is_other)
        everybody = np.concatenate((others, clients))
        now = np.concatenate((self._latest[others], rows))
        asking = np.zeros(len(everybody), dtype=np.bool_)
        asking[len(others) :] = True
        brokers = self._brokers[everybody]
        return PlacementProblem(
            Clients(_rows_of(self._wants, now), brokers),
            BrokerView(self._counts.copy(), self._counts.sum(axis=1, dtype=np.int64)),
            self._clusters,
            viewed=Clients(_rows_of(self._wants, self._latest[everybody]), brokers.copy()),
            asking=asking,
        )

    def _scaled(self, view: BrokerView, network_load: int | None) -> PlacementRules:
        """A broker's load is its share of the whole network's."""
        if network_load is None:
            return self._rules
        share = int(view.loads.sum()) / max(network_load, 1)
        return replace(self._rules, load_weight=self._rules.load_weight * share)

    def _count(self, clients: Int64Array, change: int) -> None:
        """Count what clients want at their brokers, or count it no more."""
        seated = clients[self._latest[clients] >= 0]
        wants = _rows_of(self._wants, self._latest[seated])
        hosts = np.repeat(self._brokers[seated], wants.counts())
        np.add.at(self._counts, (hosts, wants.columns), change)


def _by_slot(slots: Int64Array) -> Iterator[Int64Array]:
    """The rows of each slot that has asks."""
    starts = np.flatnonzero(np.diff(slots, prepend=-1))
    yield from (rows for rows in np.split(np.arange(len(slots)), starts[1:]) if len(rows))


def _joined(one: Interests, other: Interests) -> Interests:
    """Rows of both, one after the other."""
    offsets = np.concatenate((one.offsets, one.offsets[-1] + other.offsets[1:]))
    columns = np.concatenate((one.columns, other.columns))
    return Interests(max(one.column_count, other.column_count), offsets, columns)


def _rows_of(interests: Interests, rows: Int64Array) -> Interests:
    """Some rows of interests, in their order; -1 is one that wants nothing."""
    counts = np.where(rows < 0, 0, interests.counts()[rows])
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    starts = np.repeat(interests.offsets[rows] - offsets[:-1], counts)
    columns = interests.columns[starts + np.arange(offsets[-1])]
    return Interests(interests.column_count, offsets, columns)
