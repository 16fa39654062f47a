"""Traces on disk: a folder of Parquet tables, read strictly, written whole or not at all.

The folder is on a file system that the driver and all executors see.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.writing import refuse_unwritable
from meshwright.model.schema import TRACE_TABLES, Table
from meshwright.pipeline.frames import conform, spark_schema
from meshwright.pipeline.parquet_files import check_part, parts, row_count
from meshwright.pipeline.values import checked

ADDRESS = re.compile(r"[a-z][a-z0-9+]+:/")
GLOB_CHARACTERS = "\\*?[]{}"


def read_table(session: SparkSession, trace: Path, table: Table) -> DataFrame:
    """One table of a trace; every file of it is checked before Spark begins."""
    folder = table_folder(trace, table)
    for part in parts(folder):
        check_part(part, table)
    rows = session.read.schema(spark_schema(table)).parquet(spark_path(folder))
    return conform(checked(rows, table), table)


def table_names(trace: Path) -> tuple[str, ...]:
    """The tables that a trace has, in the order of the schema."""
    if not trace.is_dir():
        problem = "there is no such trace" if not trace.exists() else "this is a file, not a trace"
        raise InputFileError(str(trace), problem, remedy="name a folder that trace import wrote")
    names = tuple(name for name in TRACE_TABLES if (trace / name).is_dir())
    if not names:
        raise InputFileError(
            str(trace),
            "this folder has no table of a trace",
            remedy="name a folder that trace import or trace generate wrote",
        )
    return names


def check_trace(trace: Path) -> None:
    """Refuse what is no trace, or has a damaged file, before anybody starts Spark for it."""
    for name in table_names(trace):
        for part in parts(trace / name):
            check_part(part, TRACE_TABLES[name])


def row_counts(trace: Path) -> dict[str, int]:
    """Rows of every table of a trace, by the word of its files' footers: no row is read."""
    return {
        name: sum(row_count(part) for part in parts(trace / name)) for name in table_names(trace)
    }


@contextmanager
def staged_trace(out: Path) -> Iterator[Path]:
    """A folder to write tables to; it becomes the trace when the block ends, and not before.

    A block that fails leaves nothing; the leavings of a job that was killed are removed by the
    next one. A trace that stands under the name is replaced, any other folder is refused.
    """
    target = refuse_no_trace(out)
    aside = target.with_name(f".{target.name}.aside")
    with _only_writer(aside, out):
        try:
            yield aside
            former = target.with_name(f".{target.name}.former")
            shutil.rmtree(former, ignore_errors=True)
            if target.exists():
                target.rename(former)
            aside.rename(target)
            shutil.rmtree(former, ignore_errors=True)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def write_table(frame: DataFrame, folder: Path, table: Table) -> None:
    """Write one table into a staged trace."""
    (
        conform(frame, table)
        .write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        .option("compression", "zstd")
        .parquet("file://" + str(folder / table.name))
    )


def table_folder(trace: Path, table: Table) -> Path:
    """The folder of a table; says what a trace has where it lacks it."""
    names = table_names(trace)
    if table.name not in names:
        raise InputFileError(
            str(trace),
            f"the trace has no table {table.name} ({table.meaning}); it has {', '.join(names)}",
            remedy=f"import or generate a trace with {table.name}",
        )
    return trace / table.name


def refuse_no_trace(out: Path) -> Path:
    """The real folder behind an output path; says why no trace could be written there."""
    if ADDRESS.match(str(out)):
        raise OperatorError(f"{out}: a trace is a folder, not an address; name a folder.")
    if not out.exists():
        return refuse_unwritable(out)
    target = out.resolve()
    if not target.is_dir() or any(
        entry.name not in TRACE_TABLES or not entry.is_dir() for entry in target.iterdir()
    ):
        raise OperatorError(f"{out}: this is no trace and is not replaced; choose another name.")
    if not os.access(target.parent, os.W_OK):
        raise OperatorError(f"{out}: its folder is read-only; choose another folder.")
    return target


def spark_path(path: Path) -> str:
    """A path as Spark reads it: on every machine's own disk, and no character means a pattern."""
    text = str(path.resolve())
    return "file://" + "".join(f"\\{c}" if c in GLOB_CHARACTERS else c for c in text)


@contextmanager
def _only_writer(aside: Path, out: Path) -> Iterator[None]:
    """Hold the folder beside the target, empty; a lock on it dies with the job that holds it."""
    aside.mkdir(exist_ok=True)
    descriptor = os.open(aside, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for leaving in aside.iterdir():
            shutil.rmtree(leaving)
        yield
    except BlockingIOError:
        raise OperatorError(
            f"{out}: another job writes this trace now; wait for it, or choose another name."
        ) from None
    finally:
        os.close(descriptor)
