"""What brokers measured of each other is enough to know how far they are, or nothing is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from meshwright.model.identifiers import BrokerName
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.trace_brokers import delays_between
from meshwright.planning.placement.clusters import random_clusters

NAMES = tuple(map(BrokerName, "abc"))


def table(*rows: tuple[str, str, float]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(("source", "target", "delay_ms"), row, strict=True)) for row in rows]
    )


def test_a_pair_without_a_row_is_as_far_as_on_the_way_back_or_by_way_of_others() -> None:
    found = delays_between(
        table(("a", "b", 2.0), ("b", "c", 3.0), ("c", "b", 4.0), ("a", "x", 9.0)), NAMES
    )
    assert found is not None
    assert found.tolist() == [[0.0, 2.0, 5.0], [2.0, 0.0, 3.0], [6.0, 4.0, 0.0]]


def test_where_a_broker_was_never_measured_nothing_is_known() -> None:
    assert delays_between(table(("a", "b", 2.0)), NAMES) is None


def test_clusters_go_by_site_then_by_map_then_by_delay_and_else_by_chance() -> None:
    far = np.array([[0.0, 90.0, 1.0], [90.0, 0.0, 90.0], [1.0, 90.0, 0.0]])
    places = np.array([[-30.0, 20.0], [-30.1, 20.0], [60.0, 10.0]])
    assert Brokers(NAMES, places, far, ("x", "y", "y")).clusters(2, 0).tolist() == [0, 1, 1]
    by_map = Brokers(NAMES, places, far).clusters(2, 0).tolist()
    assert by_map[0] == by_map[1] != by_map[2]
    assert Brokers(NAMES, None, far).clusters(2, 0).tolist() == [0, 1, 0]
    by_chance = random_clusters(3, 2, np.random.default_rng(5)).tolist()
    assert Brokers(NAMES).clusters(2, 5).tolist() == by_chance
    equal = np.where(np.eye(3, dtype=np.bool_), 0.0, 1.0)
    assert Brokers(NAMES, None, equal).clusters(2, 5).tolist() == by_chance
