"""The brokers of a trace, with places and delays where it has them; or as many as wanted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from scipy.sparse.csgraph import csgraph_from_dense, floyd_warshall

from meshwright.errors import CallerError, InputFileError, OperatorError
from meshwright.model.identifiers import BrokerName
from meshwright.model.schema import BROKERS, CONNECTIONS, DELAYS, Table
from meshwright.model.snapshot import Float64Array
from meshwright.model.wording import counted
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.parquet_files import check_part, parts
from meshwright.pipeline.tables.traces import table_names

Reader: TypeAlias = "Callable[[Table], DataFrame]"
Places: TypeAlias = "dict[str, tuple[float | None, float | None, str | None]]"
NAME_DIGITS, NAME_DIGITS_MAX = 2, 12  # of latitudes and longitudes in brokers' names


def has_brokers(trace: Place) -> bool:
    """Whether the trace says which brokers there are, in their own table or by who is connected."""
    return not {BROKERS.name, CONNECTIONS.name}.isdisjoint(table_names(trace))


def trace_brokers(trace: Place, read: Reader, names: tuple[str, ...] | None = None) -> Brokers:
    """The named brokers in their order, or else all of the trace in the order of their names.

    Where the trace does not know one that is named, nothing is known of places and delays.
    """
    places = _places(trace, read)
    chosen = tuple(BrokerName(name) for name in (sorted(places) if names is None else names))
    if len(chosen) < 2:
        raise InputFileError(
            str(trace),
            f"the trace knows {counted(len(chosen), 'broker')}",
            remedy="give it a table brokers with at least two, or an overlay to start from",
        )
    if not set(chosen) <= set(places):
        return Brokers(chosen)
    # An unknown place is null there and not a number here.
    coordinates = np.array([places[name][:2] for name in chosen], dtype=np.float64)
    sites = tuple(site for name in chosen if (site := places[name][2]) is not None)
    return Brokers(
        chosen,
        None if bool(np.isnan(coordinates).any()) else coordinates,
        delays_between(read(DELAYS).toArrow(), chosen)
        if DELAYS.name in table_names(trace)
        else None,
        sites if len(sites) == len(chosen) else None,
    )


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
    if len(cells) < 2:
        raise OperatorError(
            f"Everybody is in one cell of {cell_degrees:g} degrees, and one broker is no network; "
            "choose smaller cells."
        )
    places = np.array([(row.cell_north + 0.5, row.cell_east + 0.5) for row in cells])
    named = sorted(zip(place_names(places * cell_degrees), range(len(cells)), strict=True))
    return Brokers(
        tuple(BrokerName(name) for name, _ in named),
        (places * cell_degrees)[[number for _, number in named]],
    )


def place_names(places: Float64Array) -> list[str]:
    """Names by latitude and longitude, with as many digits as tell all places apart."""
    for digits in range(NAME_DIGITS, NAME_DIGITS_MAX):
        names = [f"b{north:.{digits}f},{east:.{digits}f}" for north, east in places.tolist()]
        if len(set(names)) == len(names):
            return names
    raise CallerError("two brokers stand at the same place")


def refuse_strangers(trace: Place, connections: DataFrame, brokers: Brokers) -> None:
    """Refuse connections to a broker that the table of brokers does not name."""
    named = {row.broker for row in connections.select("broker").distinct().collect()}
    strangers = sorted(named - set(brokers.names))
    if strangers:
        raise InputFileError(
            str(trace / CONNECTIONS.name),
            f"clients are connected to {strangers[0]!r}, which the table brokers does not name",
            remedy="name it there, or leave that table out",
        )


def _places(trace: Place, read: Reader) -> Places:
    """Latitude, longitude and site of brokers, by their table or else of those clients name."""
    if BROKERS.name not in table_names(trace):
        if not has_brokers(trace):
            return {}
        connected = read(CONNECTIONS).select("broker").distinct().collect()
        return {row.broker: (None, None, None) for row in connected}
    rows = read(BROKERS).collect()
    places = {row.broker: (row.latitude, row.longitude, row.site) for row in rows}
    if len(places) < len(rows):
        names = sorted(row.broker for row in rows)
        twice = next(one for one, other in pairwise(names) if one == other)
        raise InputFileError(
            str(trace / BROKERS.name),
            f"the broker {twice!r} is named twice",
            remedy="name each of them once",
        )
    return places


def measured_delays(trace: Path, names: tuple[BrokerName, ...]) -> Float64Array | None:
    """One way in ms, (broker, broker), as the trace has them now; None if it has not all."""
    folder = trace / DELAYS.name
    files = parts(folder) if folder.is_dir() else []
    if not files or len(names) < 2:
        return None
    for file in files:
        check_part(file, DELAYS)
    columns = list(DELAYS.column_names())
    return delays_between(
        pa.concat_tables(parquet.read_table(file, columns=columns) for file in files), names
    )


def delays_between(table: pa.Table, names: tuple[BrokerName, ...]) -> Float64Array | None:
    """One way in ms, (broker, broker), of a table of delays; a broker and itself have no row.

    Brokers measure each other one after another. A pair without a row is as far apart as on the way
    back, or else as by way of others; None if that is not known of all.
    """
    numbered = pa.array(names, pa.string())
    sources, targets = (
        pc.index_in(table[column], value_set=numbered).fill_null(-1).to_numpy()
        for column in ("source", "target")
    )
    matrix = np.full((len(names), len(names)), np.inf)
    known = (sources >= 0) & (targets >= 0)
    matrix[sources[known], targets[known]] = table["delay_ms"].to_numpy()[known]
    np.fill_diagonal(matrix, 0.0)
    matrix = np.where(np.isinf(matrix), matrix.T, matrix)
    if bool(np.isinf(matrix).any()):
        ways = floyd_warshall(csgraph_from_dense(matrix, null_value=np.inf))
        matrix = np.where(np.isinf(matrix), ways, matrix)
    return None if bool(np.isinf(matrix).any()) else matrix
