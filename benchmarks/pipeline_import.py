"""Import of CSV beside pandas, which makes the same checks: whole commands, and each added row."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from benchmarks.imports.checkins import write_recorded
from benchmarks.processes import Cost, command_cost
from benchmarks.table import Row

# Both do little but start at the first.
ROW_COUNTS = (30_000, 300_000, 3_000_000)
RATIO_MAX = 2.0
ELAPSED_MAX_S = 6.0


def rows() -> list[Row]:
    with TemporaryDirectory(prefix="meshwright-") as name:
        folder = Path(name)
        found = []
        pandas, ours, spark = {}, {}, {}
        for row_count in ROW_COUNTS:
            path = folder / f"{row_count}.csv"
            write_recorded(path, row_count)
            pandas[row_count] = by_pandas(path, folder)
            ours[row_count] = by_command(path, folder)
            found.append(whole_row(row_count, ours[row_count], pandas[row_count]))
            if row_count > ROW_COUNTS[0]:
                spark[row_count] = by_command(path, folder, "--master", "local[2]")
        found.append(added_row("each row that is added", ours, pandas))
        largest = ROW_COUNTS[-1]
        ratio = spark[largest].cpu_s / pandas[largest].cpu_s
        found.append(
            Row(
                f"the same on Spark: whole import of {largest:,} check-ins",
                f"{ratio:.1f}x pandas' CPU",
                "-",
                note=told(spark[largest], pandas[largest]),
            )
        )
        found.append(added_row("on Spark: each row that is added", spark, pandas))
        return found


def whole_row(row_count: int, ours: Cost, pandas: Cost) -> Row:
    """A whole command beside a whole process of pandas; the smallest must only answer soon."""
    ratio = ours.cpu_s / pandas.cpu_s
    is_smallest = row_count == ROW_COUNTS[0]
    met = ours.elapsed_s <= ELAPSED_MAX_S if is_smallest else ratio <= RATIO_MAX
    return Row(
        f"import of {row_count:,} check-ins, whole command",
        f"{ratio:.1f}x pandas' CPU, {ours.elapsed_s:.1f} s",
        f"<= {ELAPSED_MAX_S:g} s" if is_smallest else f"<= {RATIO_MAX:g}x",
        met=met,
        note=told(ours, pandas),
    )


def added_row(task: str, ours: dict[int, Cost], pandas: dict[int, Cost]) -> Row:
    """What rows cost beyond the start, which both have."""
    *_, fewer, more = ROW_COUNTS
    own, theirs = (
        1e6 * (costs[more].cpu_s - costs[fewer].cpu_s) / (more - fewer) for costs in (ours, pandas)
    )
    return Row(
        task,
        f"{own / theirs:.1f}x pandas' CPU",
        f"<= {RATIO_MAX:g}x",
        met=own / theirs <= RATIO_MAX,
        note=f"{own:.1f} µs; pandas {theirs:.1f} µs ({fewer:,} to {more:,} rows)",
    )


def told(ours: Cost, pandas: Cost) -> str:
    return (
        f"{ours.elapsed_s:.1f} s, {ours.cpu_s:.1f} s CPU; pandas "
        f"{pandas.elapsed_s:.1f} s, {pandas.cpu_s:.1f} s CPU"
    )


def by_pandas(path: Path, folder: Path) -> Cost:
    words = ("-m", "benchmarks.imports.pandas_twin", path, folder / "good.parquet")
    return command_cost(sys.executable, *words)


def by_command(path: Path, folder: Path, *where: str) -> Cost:
    """What an import costs, which must keep and refuse as many rows as pandas did."""
    trace = folder / "trace"
    words = ("trace", "import", "--format", "gowalla", path, "--out", trace, *where)
    cost = command_cost(sys.executable, "-m", "meshwright", *words)
    for table, other in (("positions", "good.parquet"), ("quarantine", "good.refused")):
        theirs = pq.read_metadata(folder / other).num_rows
        assert len(pq.read_table(trace / table)) == theirs, f"{table}: pandas has {theirs:,}"
    return cost
