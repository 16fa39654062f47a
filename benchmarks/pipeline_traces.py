"""Traces on Spark: rows a second and core of import, visits and generation, with pandas beside."""

from __future__ import annotations

import gc
import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from benchmarks.processes import Cost, costed
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
USER_COUNT = 40_000
POISSON_USERS = 50_000
GROWTH_MAX = 11.0
IMPORT_RATIO_MAX = 2.0


def rows() -> list[Row]:
    session = open_session("meshwright-benchmarks", master="local[2]")
    try:
        with TemporaryDirectory(prefix="meshwright-") as name:
            folder = Path(name)
            found = [*import_and_visits(session, folder), *poisson_growth(session, folder)]
            found.append(location_row(session, folder))
            return found
    finally:
        session.stop()


def import_and_visits(session: SparkSession, folder: Path) -> list[Row]:
    """The same check-ins through Spark and through pandas in one process."""
    path, repeating = folder / "checkins.csv", folder / "repeating.csv"
    write_checkins(path)
    with_repetitions(path, repeating)
    trace = folder / "trace"

    def imported(file: Path = path) -> None:
        parameters = ImportParameters(format="gowalla")
        import_trace(session, [file], parameters, friends=None, out=trace)

    def visited() -> int:
        found = user_cells(visits(cells(read_table(session, trace, POSITIONS), 1.0)))
        return int(found.agg({"visit_count": "sum"}).collect()[0][0])

    for file in (path, repeating):  # warm
        imported(file)
    repeated_cost, _ = costed(lambda: imported(repeating))
    import_cost, _ = costed(imported)
    visited()
    visit_cost, visit_count = costed(visited)
    pandas_import, table = costed(lambda: imported_by_pandas(path, folder / "table.parquet"))
    pandas_repeated, _ = costed(lambda: imported_by_pandas(repeating, folder / "table.parquet"))
    pandas_visits, pandas_count = costed(lambda: visited_by_pandas(table))
    assert visit_count == pandas_count
    return [
        ratio_row(f"import of {CHECKIN_COUNT:,} check-ins from CSV", import_cost, pandas_import),
        ratio_row(
            "the same, a tenth of them twice, which pandas does not tell",
            repeated_cost,
            pandas_repeated,
            None,
        ),
        ratio_row(f"visits of {CHECKIN_COUNT:,} check-ins", visit_cost, pandas_visits, None),
    ]


def ratio_row(task: str, spark: Cost, pandas: Cost, most: float | None = IMPORT_RATIO_MAX) -> Row:
    ratio = spark.cpu_s / pandas.cpu_s
    return Row(
        task,
        f"{ratio:.1f}x pandas' CPU, {CHECKIN_COUNT / spark.cpu_s:,.0f} rows/s and core",
        "-" if most is None else f"<= {most:g}x",
        met=None if most is None else ratio <= most,
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


def write_checkins(path: Path) -> None:
    """Check-ins of users who mostly stay where they are."""
    rng = np.random.default_rng(1)
    users = np.sort(rng.integers(USER_COUNT, size=CHECKIN_COUNT))
    times = pd.Timestamp("2010-08-01") + pd.to_timedelta(
        rng.integers(92 * 86_400, size=CHECKIN_COUNT), unit="s"
    )
    frame = pd.DataFrame(
        {
            "user_id": users,
            "ts_utc": times.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lat": np.round(25 + users % 20 + rng.exponential(0.6, CHECKIN_COUNT), 6),
            "lon": np.round(-125 + users % 60 + rng.exponential(0.6, CHECKIN_COUNT), 6),
            "venue_id": rng.integers(100_000, size=CHECKIN_COUNT),
        }
    )
    frame.to_csv(path, index=False)


def with_repetitions(path: Path, out: Path) -> None:
    """The same number of check-ins, of which every tenth stands again at the end."""
    header, *lines = path.read_text().splitlines(keepends=True)
    again = lines[::10]
    out.write_text("".join([header, *lines[len(again) :], *again]))


def imported_by_pandas(path: Path, out: Path) -> pd.DataFrame:
    """The same checks in memory, and the table on disk."""
    read = pd.read_csv(path, dtype={"user_id": str, "venue_id": str})
    read["time"] = pd.to_datetime(read["ts_utc"], errors="coerce")
    is_good = read["time"].notna() & read["user_id"].notna()
    is_good &= read["lat"].abs().le(90) & read["lon"].abs().le(180)
    is_good &= ~read.duplicated(["user_id", "time", "lat", "lon", "venue_id"])
    table = read[is_good].drop(columns="ts_utc")
    table.to_parquet(out)
    return table


def visited_by_pandas(table: pd.DataFrame) -> int:
    kept = table.sort_values(["user_id", "time", "venue_id", "lat", "lon"])
    kept["north"], kept["east"] = np.floor(kept["lat"]), np.floor(kept["lon"])
    former = kept.groupby("user_id")[["north", "east"]].shift()
    starts = kept[(former != kept[["north", "east"]]).any(axis=1)]
    return int(starts.groupby(["user_id", "north", "east"]).size().sum())


def peak_memory_mb() -> float:
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
