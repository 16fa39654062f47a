"""Traces on Spark: rows a second and core of visits and generation, with pandas beside."""

from __future__ import annotations

import gc
import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from benchmarks.imports.checkins import write_checkins
from benchmarks.imports.pandas_twin import imported_by_pandas
from benchmarks.processes import costed
from benchmarks.table import Row
from meshwright.model.schema import POSITIONS
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.trace_import import import_trace
from meshwright.pipeline.spark.session import open_session
from meshwright.pipeline.stages.visits import cells, user_cells, visits
from meshwright.pipeline.tables.traces import read_table

CHECKIN_COUNT = 1_000_000
POISSON_USERS = 50_000
GROWTH_MAX = 11.0


def rows() -> list[Row]:
    session = open_session("meshwright-benchmarks", master="local[2]")
    try:
        with TemporaryDirectory(prefix="meshwright-") as name:
            folder = Path(name)
            found = [visits_row(session, folder), *poisson_growth(session, folder)]
            found.append(location_row(session, folder))
            return found
    finally:
        session.stop()


def visits_row(session: SparkSession, folder: Path) -> Row:
    """The same check-ins through Spark and through pandas in one process."""
    path, trace = folder / "checkins.csv", folder / "trace"
    write_checkins(path, CHECKIN_COUNT)
    import_trace(session, [path], ImportParameters(format="gowalla"), friends=None, out=trace)

    def visited() -> int:
        found = user_cells(visits(cells(read_table(session, trace, POSITIONS), 1.0)))
        return int(found.agg({"visit_count": "sum"}).collect()[0][0])

    table = imported_by_pandas(path, folder / "table.parquet")
    visited()  # warm
    spark, visit_count = costed(visited)
    pandas, pandas_count = costed(lambda: visited_by_pandas(table))
    assert visit_count == pandas_count
    return Row(
        f"visits of {CHECKIN_COUNT:,} check-ins",
        f"{spark.cpu_s / pandas.cpu_s:.1f}x pandas' CPU, "
        f"{CHECKIN_COUNT / spark.cpu_s:,.0f} rows/s and core",
        "-",
        note=f"Spark {spark.elapsed_s:.1f} s, {spark.cpu_s:.1f} s CPU; pandas in one process "
        f"{pandas.elapsed_s:.1f} s, {pandas.cpu_s:.1f} s CPU",
    )


def poisson_growth(session: SparkSession, folder: Path) -> list[Row]:
    """The paper's Poisson model, and ten times its users: time and the driver's memory."""

    def generated(users: int) -> int:
        model = PoissonParameters(users=users, publications_per_hour=1.0)
        return sum(generate_trace(session, model, folder / "p").values())

    generated(1024)  # warm
    once, row_count = costed(lambda: generated(POISSON_USERS))
    memory_mb = peak_memory_mb()
    tenfold, _ = costed(lambda: generated(10 * POISSON_USERS))
    growth = tenfold.cpu_s / once.cpu_s
    added_mb = peak_memory_mb() - memory_mb
    return [
        Row(
            f"generate the Poisson model, {POISSON_USERS:,} users",
            f"{row_count / once.cpu_s:,.0f} rows/s and core",
            "-",
            note=f"{row_count:,} rows in {once.elapsed_s:.1f} s, {once.cpu_s:.1f} s CPU",
        ),
        Row(
            "the same with ten times the users",
            f"{growth:.1f}x the CPU time",
            f"<= {GROWTH_MAX:g}x",
            met=growth <= GROWTH_MAX,
            note=f"{tenfold.elapsed_s:.1f} s, {tenfold.cpu_s:.1f} s CPU; the Python driver grew by "
            f"{added_mb:.0f} MB",
        ),
    ]


def location_row(session: SparkSession, folder: Path) -> Row:
    cost, counts = costed(lambda: generate_trace(session, LocationParameters(), folder / "l"))
    row_count = sum(counts.values())
    return Row(
        "generate the location model, 40,000 users, 1200 brokers",
        f"{row_count / cost.cpu_s:,.0f} rows/s and core",
        "-",
        note=f"{row_count:,} rows, {counts['positions']:,} of them positions, "
        f"in {cost.elapsed_s:.1f} s, {cost.cpu_s:.1f} s CPU",
    )


def visited_by_pandas(table: pd.DataFrame) -> int:
    kept = table.sort_values(["client", "time", "venue", "latitude", "longitude"])
    kept["north"], kept["east"] = np.floor(kept["latitude"]), np.floor(kept["longitude"])
    former = kept.groupby("client")[["north", "east"]].shift()
    starts = kept[(former != kept[["north", "east"]]).any(axis=1)]
    return int(starts.groupby(["client", "north", "east"]).size().sum())


def peak_memory_mb() -> float:
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
