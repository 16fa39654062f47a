"""Import of many small files beside one file of the same rows: all of them are one scan."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from benchmarks.processes import Cost, costed
from benchmarks.table import Row
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.trace_import import import_trace
from meshwright.pipeline.spark.session import open_session

FILE_COUNT = 10_000
ROWS_OF_A_FILE = 20
RATIO_MAX = 2.0
HEADER = "user_id,ts_utc,lat,lon,venue_id\n"


def rows() -> list[Row]:
    session = open_session("meshwright-benchmarks", master="local[2]")
    try:
        with TemporaryDirectory(prefix="meshwright-") as name:
            folder = Path(name)
            parts = [checkins(number) for number in range(FILE_COUNT)]
            one = folder / "one.csv"
            one.write_text(HEADER + "".join(parts))
            many = [folder / f"part-{number}.csv" for number in range(FILE_COUNT)]
            for path, part in zip(many, parts, strict=True):
                path.write_text(HEADER + part)
            imported(session, [one], folder / "trace")  # warm
            together = imported(session, [one], folder / "trace")
            apart = imported(session, many, folder / "trace")
            return [compared(together, apart)]
    finally:
        session.stop()


def compared(together: Cost, apart: Cost) -> Row:
    """The row of one file beside many."""
    ratio = apart.cpu_s / together.cpu_s
    return Row(
        f"import of {FILE_COUNT * ROWS_OF_A_FILE:,} rows in {FILE_COUNT:,} files",
        f"{ratio:.2f}x the CPU time of one file",
        f"<= {RATIO_MAX:g}x",
        met=ratio <= RATIO_MAX,
        note=f"one file {together.elapsed_s:.1f} s, {together.cpu_s:.1f} s CPU; "
        f"many {apart.elapsed_s:.1f} s, {apart.cpu_s:.1f} s CPU",
    )


def imported(session: SparkSession, paths: list[Path], out: Path) -> Cost:
    parameters = ImportParameters(format="gowalla")

    def work() -> int:
        summary = import_trace(session, paths, parameters, friends=None, out=out)
        return summary.row_counts["positions"]

    cost, row_count = costed(work)
    assert row_count == FILE_COUNT * ROWS_OF_A_FILE
    return cost


def checkins(number: int) -> str:
    """Rows of one file, of which none is in another."""
    return "".join(
        f"u{number},2010-08-01T{row:02d}:00:00Z,{number % 90}.5,{row}.25,v{row}\n"
        for row in range(ROWS_OF_A_FILE)
    )
