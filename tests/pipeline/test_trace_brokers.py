"""What brokers measured of each other is enough to know how far they are, or nothing is known."""

from __future__ import annotations

import pyarrow as pa

from meshwright.model.identifiers import BrokerName
from meshwright.pipeline.trace_brokers import delays_between

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
