"""The brokers that a trace knows, with places and delays where it has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from meshwright.errors import InputFileError
from meshwright.model.identifiers import BrokerName
from meshwright.model.schema import BROKERS, CONNECTIONS, DELAYS
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.brokers import Brokers
from meshwright.pipeline.traces import read_table, table_names


def trace_brokers(
    session: SparkSession, trace: Path, names: tuple[str, ...] | None = None
) -> Brokers:
    """The named brokers in their order, or else all of the trace in the order of their names."""
    places = _places(session, trace)
    names = tuple(sorted(places)) if names is None else names
    if len(names) < 2:
        raise InputFileError(
            str(trace),
            f"the trace knows {len(names)} brokers",
            remedy="give it a table brokers with at least two, or an overlay to start from",
        )
    known = [place for name in names if (place := places.get(name)) is not None]
    coordinates = np.array(known, dtype=np.float64) if len(known) == len(names) else None
    delays_ms = _delays_ms(session, trace, names)
    return Brokers(tuple(BrokerName(name) for name in names), coordinates, delays_ms)


def _places(session: SparkSession, trace: Path) -> dict[str, tuple[float, float] | None]:
    """Latitude and longitude of brokers, by their own table or else by those that clients name."""
    tables = table_names(trace)
    if BROKERS.name in tables:
        rows = read_table(session, trace, BROKERS).collect()
        return {
            row["broker"]: None
            if row["latitude"] is None or row["longitude"] is None
            else (row["latitude"], row["longitude"])
            for row in rows
        }
    if CONNECTIONS.name in tables:
        connected = read_table(session, trace, CONNECTIONS).select("broker").distinct()
        return {row["broker"]: None for row in connected.collect()}
    return {}


def _delays_ms(session: SparkSession, trace: Path, names: tuple[str, ...]) -> Float64Array | None:
    """One way, (broker, broker); None where a pair is not known."""
    if DELAYS.name not in table_names(trace):
        return None
    numbers = {name: number for number, name in enumerate(names)}
    delays = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(delays, 0.0)
    for row in read_table(session, trace, DELAYS).collect():
        if row["source"] in numbers and row["target"] in numbers:
            delays[numbers[row["source"]], numbers[row["target"]]] = row["delay_ms"]
    return None if bool(np.isnan(delays).any()) else delays
