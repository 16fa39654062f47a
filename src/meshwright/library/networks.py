"""Networks in and out: CSV files and pandas tables."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from meshwright.files.snapshots import (
    DELAYS_COLUMNS,
    INTERESTS_COLUMNS,
    PUBLISHING_BROKER,
    RATES_COLUMNS,
    read_snapshot,
)
from meshwright.files.tables import GivenTable, table_fault
from meshwright.model.snapshot import Snapshot


class NetworkTables(NamedTuple):
    """The tables of a network, with the columns of interests.csv, rates.csv and delays.csv.

    delays: None where no delays between brokers are known.
    """

    interests: pd.DataFrame
    rates: pd.DataFrame
    delays: pd.DataFrame | None


def read_network(
    interests: str | Path, rates: str | Path, delays: str | Path | None = None
) -> Snapshot:
    """A network from interests.csv, rates.csv and, where delays count, delays.csv.

    docs/FILES.md describes them. What is wrong with a file is one sentence of a MeshwrightError.
    """
    delays_path = None if delays is None else Path(delays)
    return read_snapshot(Path(interests), Path(rates), delays_source=delays_path)


def network_from_frames(
    interests: pd.DataFrame, rates: pd.DataFrame, delays: pd.DataFrame | None = None
) -> Snapshot:
    """A network of pandas tables with the columns of these files; others are left out.

    interests: broker, topic. rates: topic, publications and, if known, the broker where they enter.
    delays: source, target, delay_ms.
    """
    return read_snapshot(
        _given("interests", interests, INTERESTS_COLUMNS),
        _given("rates", rates, RATES_COLUMNS, PUBLISHING_BROKER),
        delays_source=None if delays is None else _given("delays", delays, DELAYS_COLUMNS),
    )


def _given(
    name: str, frame: pd.DataFrame, columns: tuple[str, ...], optional: str | None = None
) -> GivenTable:
    """The table as text, so that it is read as strictly as a file; optional may have gaps."""
    part = frame.loc[:, [column in (*columns, optional) for column in frame.columns]]
    gaps = part.isna().to_numpy()
    texts = [
        [
            "" if gap else str(value)
            for value, gap in zip(part.iloc[:, at], gaps[:, at], strict=True)
        ]
        for at in range(len(part.columns))
    ]
    rows = list(zip(*texts, strict=True))
    table = GivenTable(name, tuple(part.columns), rows, part.index.tolist())
    for row, at in np.argwhere(gaps).tolist():
        if part.columns[at] != optional:
            raise table_fault(
                table,
                f"{part.columns[at]} is {part.iat[row, at]}",
                "give every row a value, or leave the row out",
                row,
            )
    return table


def network_to_frames(network: Snapshot) -> NetworkTables:
    """The tables of a network, from which network_from_frames makes it again."""
    brokers, topics = np.array(network.brokers), np.array(network.topics)
    wants = network.interests
    interests = pd.DataFrame(
        {"broker": brokers[wants.row_of_pairs()], "topic": topics[wants.columns]}
    )
    rates = pd.DataFrame({"topic": topics, "publications": network.publications})
    if network.publishers is not None:
        where, what = np.nonzero(network.publishers)
        entering = {"publications": network.publishers[where, what], "broker": brokers[where]}
        rates = pd.DataFrame({"topic": topics[what], **entering})
    delays = None
    if network.delays_ms is not None:
        one, other = np.nonzero(~np.eye(len(brokers), dtype=bool))
        far = network.delays_ms[one, other]
        delays = pd.DataFrame({"source": brokers[one], "target": brokers[other], "delay_ms": far})
    return NetworkTables(interests, rates, delays)
