"""Brokers from the tables of a trace, or as many as wanted where a trace names none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError
from meshwright.model.identifiers import BrokerName
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.brokers import Brokers


def recorded_brokers(trace: Path, brokers: DataFrame, delays: DataFrame | None) -> Brokers:
    """The brokers that the trace names, in the order of their names."""
    rows = brokers.orderBy("broker").collect()
    names = tuple(BrokerName(row.broker) for row in rows)
    if len(names) < 2 or len(set(names)) != len(names):
        problem = "there are fewer than two" if len(names) < 2 else "one is named twice"
        raise InputFileError(
            str(trace / "brokers"), f"of its brokers {problem}", remedy="name each of them once"
        )
    # An unknown place is null there and not a number here.
    places = np.array([[row.latitude, row.longitude] for row in rows], dtype=np.float64)
    coordinates = None if bool(np.isnan(places).any()) else places
    return Brokers(names, coordinates, None if delays is None else _delays(trace, names, delays))


def made_brokers(count: int, visits: DataFrame | None, cell_degrees: float) -> Brokers:
    """One broker in each of the most visited cells, or brokers at no place."""
    if visits is None:
        width = len(str(count - 1))
        return Brokers(tuple(BrokerName(f"b{number:0{width}d}") for number in range(count)))
    cells = (
        visits.groupBy("cell_north", "cell_east")
        .agg(sf.count("*").alias("visits"))
        .orderBy(sf.desc("visits"), "cell_north", "cell_east")
        .limit(count)
        .collect()
    )
    named = sorted((f"b{row.cell_north}/{row.cell_east}", row) for row in cells)
    middles = [[row.cell_north + 0.5, row.cell_east + 0.5] for _, row in named]
    return Brokers(
        tuple(BrokerName(name) for name, _ in named),
        np.array(middles, dtype=np.float64) * cell_degrees,
    )


def _delays(trace: Path, names: tuple[BrokerName, ...], delays: DataFrame) -> Float64Array:
    """The matrix of delays; every pair of brokers has a row, a broker and itself none."""
    numbers = {name: number for number, name in enumerate(names)}
    table = delays.toArrow()
    sources, targets = (
        np.array([numbers.get(name, -1) for name in table[column].to_pylist()], dtype=np.int64)
        for column in ("source", "target")
    )
    matrix = np.full((len(names), len(names)), np.nan)
    known = (sources >= 0) & (targets >= 0)
    matrix[sources[known], targets[known]] = table["delay_ms"].to_numpy()[known]
    np.fill_diagonal(matrix, 0.0)
    if bool(np.isnan(matrix).any()):
        source, target = np.argwhere(np.isnan(matrix))[0]
        raise InputFileError(
            str(trace / "delays"),
            f"there is no delay from {names[source]!r} to {names[target]!r}",
            remedy="give one for every pair of brokers, or leave the table out",
        )
    return matrix
