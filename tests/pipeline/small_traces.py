"""Small traces on disk, drawn at random, for the replay as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from literal_tables import frame
from pyspark.sql import SparkSession

from meshwright.model.schema import (
    BROKERS,
    FRIENDSHIPS,
    POSITIONS,
    PUBLICATIONS,
    SUBSCRIPTIONS,
    Table,
)
from meshwright.pipeline.tables.traces import staged_trace, write_table


def write_trace(
    session: SparkSession, out: Path, tables: Iterable[tuple[Table, list[tuple[Any, ...]]]]
) -> Path:
    with staged_trace(out) as aside:
        for table, rows in tables:
            write_table(frame(session, table, rows), aside, table)
    return out


def subscribing_trace(session: SparkSession, out: Path) -> Path:
    """Thirty clients of six brokers change topics over five hours; some topics are published."""
    rng = np.random.default_rng(4)
    subscriptions: list[tuple[Any, ...]] = []
    for client in range(30):
        wanted = rng.choice(8, size=2, replace=False)
        subscriptions += [(0, f"c{client}", f"t{topic}", True) for topic in wanted]
        dropped, time = wanted[0], float(rng.uniform(0, 5))
        subscriptions.append((time, f"c{client}", f"t{dropped}", False))
        subscriptions.append((time, f"c{client}", f"t{(dropped + 1) % 8}", True))
    publications = [(float(rng.uniform(0, 5)), f"t{rng.integers(8)}", "c0", 10) for _ in range(200)]
    return write_trace(
        session,
        out,
        [
            (SUBSCRIPTIONS, subscriptions),
            (PUBLICATIONS, publications),
            (BROKERS, [(f"b{number}", None, None, None, None) for number in range(6)]),
        ],
    )


def wandering_trace(session: SparkSession, out: Path) -> Path:
    """Twenty friends walk over a map for five hours; nobody says where brokers are."""
    rng = np.random.default_rng(5)
    positions = [
        (float(time), f"c{client}", *(float(part) for part in rng.uniform(0, 3, size=2)), None)
        for client in range(20)
        for time in np.sort(rng.uniform(0, 5, size=4))
    ]
    friends = [(f"c{client}", f"c{(client + 1) % 20}") for client in range(20)]
    return write_trace(session, out, [(POSITIONS, positions), (FRIENDSHIPS, friends)])
