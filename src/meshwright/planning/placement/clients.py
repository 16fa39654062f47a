"""Clients, what brokers know of each other, and what a placement is asked [DYNATOPS, 1.3]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright.errors import CallerError
from meshwright.model.interests import BoolArray, Int32Array, Int64Array, Interests

NO_BROKER = -1


@dataclass(frozen=True, slots=True, eq=False)
class Clients:
    """Clients, what they want and where they are.

    interests: clients by topics. brokers: the current broker, NO_BROKER for a newcomer, (client,).
    local_brokers: the broker of each client's cell, see `nearest_brokers`, (client,), or None where
    places are unknown.
    """

    interests: Interests
    brokers: Int32Array
    local_brokers: Int32Array | None = None

    def __post_init__(self) -> None:
        for array in (self.brokers, self.local_brokers):
            if array is not None:
                if len(array) != self.interests.row_count:
                    raise CallerError("clients differ in number from their interests")
                array.setflags(write=False)

    @property
    def count(self) -> int:
        return self.interests.row_count

    def moved_to(self, brokers: Int32Array) -> Clients:
        """The same clients after a placement."""
        return Clients(self.interests, brokers, self.local_brokers)


@dataclass(frozen=True, slots=True, eq=False)
class BrokerView:
    """What brokers told each other at the last T_update.

    reference_counts: clients of a broker that want a topic, (broker, topic).
    loads: subscriptions of a broker's clients, (broker,).
    """

    reference_counts: Int32Array
    loads: Int64Array

    def __post_init__(self) -> None:
        if len(self.loads) != len(self.reference_counts):
            raise CallerError("a view's loads and reference counts differ in brokers")
        self.reference_counts.setflags(write=False)
        self.loads.setflags(write=False)

    @property
    def broker_count(self) -> int:
        return len(self.loads)


@dataclass(frozen=True, slots=True, eq=False)
class PlacementProblem:
    """Which broker should serve each client, as far as a view of the past can tell.

    clusters: the cluster of each broker, (broker,). A client may choose among the brokers of its
    own cluster: the one of its local broker, else of its current broker, else of the broker that a
    newcomer happens to ask.
    viewed: the same clients as the view counted them; None where nothing has changed since.
    asking: who asks for a broker, (client,); None for all. Newcomers always ask, the others stay.
    """

    clients: Clients
    view: BrokerView
    clusters: Int32Array
    viewed: Clients | None = None
    asking: BoolArray | None = None

    def __post_init__(self) -> None:
        clients, view = self.clients, self.view
        if clients.interests.column_count != view.reference_counts.shape[1]:
            raise CallerError("the clients and the view differ in topics")
        if len(self.clusters) != view.broker_count:
            raise CallerError("the clusters and the view differ in brokers")
        for brokers in (clients.brokers, clients.local_brokers):
            if brokers is not None and len(brokers) and int(brokers.max()) >= view.broker_count:
                raise CallerError("a client is on a broker that the view does not have")
        for array in (self.asking, None if self.viewed is None else self.viewed.brokers):
            if array is not None and len(array) != clients.count:
                raise CallerError("a placement's clients differ in number")


def view_of(clients: Clients, broker_count: int) -> BrokerView:
    """An exact view of the clients now; newcomers count nowhere."""
    topic_count = clients.interests.column_count
    hosts = np.repeat(clients.brokers.astype(np.int64), clients.interests.counts())
    hosted = hosts != NO_BROKER
    cells = hosts[hosted] * topic_count + clients.interests.columns[hosted]
    counts = np.bincount(cells, minlength=broker_count * topic_count).astype(np.int32)
    reference_counts = counts.reshape(broker_count, topic_count)
    return BrokerView(reference_counts, reference_counts.sum(axis=1, dtype=np.int64))


def pairs_counted_here(problem: PlacementProblem) -> BoolArray:
    """Whether the view counts a client's want at its current broker, for every pair: (pair,)."""
    clients, viewed = problem.clients, problem.viewed
    if viewed is None or viewed is clients:
        return np.ones(clients.interests.pair_count, dtype=np.bool_)
    topic_count = clients.interests.column_count
    rows = clients.interests.row_of_pairs().astype(np.int64)
    codes = rows * topic_count + clients.interests.columns
    viewed_rows = viewed.interests.row_of_pairs().astype(np.int64)
    viewed_codes = viewed_rows * topic_count + viewed.interests.columns
    same_broker = (viewed.brokers == clients.brokers)[rows]
    counted: BoolArray = np.isin(codes, viewed_codes, assume_unique=True) & same_broker
    return counted


def loads_counted_here(problem: PlacementProblem) -> Int64Array:
    """Subscriptions of a client that the view counts at its current broker: (client,)."""
    clients = problem.clients
    viewed = clients if problem.viewed is None else problem.viewed
    loads: Int64Array = np.where(
        viewed.brokers == clients.brokers, viewed.interests.counts(), np.int64(0)
    )
    return loads
