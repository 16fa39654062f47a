"""Networks in and out: CSV files and pandas tables."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from meshwright.files.snapshots import read_snapshot
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
    return read_snapshot(Path(interests), Path(rates), delays_path=delays_path)


def network_from_frames(
    interests: pd.DataFrame, rates: pd.DataFrame, delays: pd.DataFrame | None = None
) -> Snapshot:
    """A network of pandas tables with the columns of these files; others are left out.

    interests: broker, topic. rates: topic, publications and, if known, the broker where they enter.
    delays: source, target, delay_ms.
    """
    wanted = {"interests": (interests, ["broker", "topic"])}
    columns = ["topic", "publications", *(["broker"] if "broker" in rates else [])]
    wanted["rates"] = (rates, columns)
    if delays is not None:
        wanted["delays"] = (delays, ["source", "target", "delay_ms"])
    with tempfile.TemporaryDirectory() as folder:
        # By way of the files, so that tables are read as strictly as files are.
        files = {name: Path(folder, f"{name}.csv") for name in wanted}
        for name, (frame, chosen) in wanted.items():
            there = [column for column in chosen if column in frame]
            frame[there].to_csv(files[name], index=False)
        return read_network(files["interests"], files["rates"], files.get("delays"))


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
