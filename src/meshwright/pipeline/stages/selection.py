"""Selection: the best broker of every client on one view of all brokers, in one pass [Alg. 1]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from meshwright.model.identifiers import TopicName
from meshwright.model.interests import Int32Array, interests_from_pairs
from meshwright.planning.placement.clients import BrokerView, Clients, PlacementProblem
from meshwright.planning.placement.strategies import PlacementRules, similarity

SELECTED = "client string, broker int"


@dataclass(frozen=True, slots=True, eq=False)
class NetworkView:
    """What all brokers told each other, small enough to be sent to every task.

    topics name the columns of the view; clusters: (broker,).
    """

    topics: tuple[TopicName, ...]
    view: BrokerView
    clusters: Int32Array


def selected_brokers(clients: DataFrame, network: NetworkView, rules: PlacementRules) -> DataFrame:
    """Client and the number of its best broker, without a cap, as similarity chooses.

    clients: client, broker (its present one's number, -1 for a newcomer), home (the number of the
    broker whose cluster it chooses in), topics (an array of names). Topics that the view does not
    have are wanted by nobody else.
    """
    wanted = clients.select("client", "broker", "home", "topics")
    return wanted.mapInArrow(_selector(network, rules), SELECTED)


def _selector(
    network: NetworkView, rules: PlacementRules
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    names = pa.array(network.topics, type=pa.string())
    unknown = len(names)

    def select(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # One more column, for topics that nobody has.
        counts = np.pad(network.view.reference_counts, ((0, 0), (0, 1)))
        view = BrokerView(counts, network.view.loads.copy())
        for batch in batches:
            lists = batch["topics"]
            found = pc.index_in(lists.flatten(), value_set=names).fill_null(unknown)
            rows = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
            codes = np.unique(rows * (unknown + 1) + found.to_numpy())
            rows, columns = np.divmod(codes, unknown + 1)
            wants = interests_from_pairs(rows, columns, len(lists), unknown + 1)
            brokers, homes = (
                batch[name].to_numpy().astype(np.int32) for name in ("broker", "home")
            )
            clients = Clients(wants, brokers.astype(np.int32), homes.astype(np.int32))
            problem = PlacementProblem(clients, view, network.clusters)
            # Homes are known, so nothing is left to chance.
            chosen = pa.array(similarity(problem, rules, np.random.default_rng(0)))
            yield pa.RecordBatch.from_pydict({"client": batch["client"], "broker": chosen})

    return select
