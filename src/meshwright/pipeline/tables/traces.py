"""Traces: folders of Parquet tables, read strictly, written whole or not at all.

The folder is on a disk that the driver and all executors see, or at an address that Spark reaches.
There, where a folder cannot get its name in one step, a mark says that a trace is not whole yet.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.trace_files import keep_for_reading
from meshwright.files.writing import refuse_unwritable, why_closed
from meshwright.model.schema import TRACE_TABLES, Table
from meshwright.pipeline.places.alone import IN_USE, alone_in
from meshwright.pipeline.places.hadoop import names_at, remove, removed_on_failure
from meshwright.pipeline.places.place import Address, Place, spark_path, spark_target
from meshwright.pipeline.tables.frames import arrow_schema, conform, spark_schema
from meshwright.pipeline.tables.parquet_files import check_part, check_schema, parts, row_count
from meshwright.pipeline.tables.values import checked

# Ends the name of a trace that is being written, which begins with a dot.
ASIDE = ".aside"
# Who reads a file on several cores takes its groups of rows apart.
ROWS_OF_A_GROUP = 1 << 18


def read_table(session: SparkSession, trace: Place, table: Table) -> DataFrame:
    """One table of a trace; every file of it is checked before its rows are read.

    At an address Spark merges what the files say of their columns, and a row says what it lacks. Of
    a folder here no file is put together with others or deleted until this process ends.
    """
    folder = table_folder(trace, table)
    if isinstance(trace, Path):
        keep_for_reading(trace)
    if isinstance(folder, Address):
        check_schema(folder, _merged_schema(session, folder), table)
    else:
        for part in parts(folder):
            check_part(part, table)
    rows = session.read.schema(spark_schema(table)).parquet(spark_path(folder))
    return conform(checked(rows, table, has_gaps=isinstance(folder, Address)), table)


def table_names(trace: Place) -> tuple[str, ...]:
    """The tables that a trace has, in the order of the schema."""
    if isinstance(trace, Address):
        found = _names_at(trace)
        if IN_USE in found:
            raise InputFileError(
                str(trace),
                "this trace is being written, or whoever wrote it was killed",
                remedy="wait for the end, or make it again",
            )
    elif trace.is_dir():
        found = {name for name in TRACE_TABLES if (trace / name).is_dir()}
    else:
        problem = "there is no such trace" if not trace.exists() else "this is a file, not a trace"
        raise InputFileError(str(trace), problem, remedy="name a folder that trace import wrote")
    names = tuple(name for name in TRACE_TABLES if name in found)
    if not names:
        raise InputFileError(
            str(trace),
            "this folder has no table of a trace",
            remedy="name a folder that trace import or trace generate wrote",
        )
    return names


def check_trace(trace: Place, *, is_growing: bool = False) -> None:
    """Refuse what is no trace, or has a damaged file, before its rows are read.

    Of a trace on this machine before anybody starts Spark for it. is_growing: as check_part has it.
    """
    if isinstance(trace, Address):
        for name in table_names(trace):
            folder = trace / name
            schema = _merged_schema(SparkSession.active(), folder)
            check_schema(folder, schema, TRACE_TABLES[name])
        return
    for name in table_names(trace):
        for part in parts(trace / name):
            check_part(part, TRACE_TABLES[name], is_growing=is_growing)


def row_counts(trace: Place) -> dict[str, int]:
    """Rows of every table of a trace, by the word of its files' footers: no row is read."""
    if isinstance(trace, Address):
        reader, found = SparkSession.active().read, _names_at(trace)
        return {
            name: reader.parquet(spark_path(trace / name)).count()
            for name in TRACE_TABLES
            if name in found
        }
    return {
        name: sum(row_count(part) for part in parts(trace / name)) for name in table_names(trace)
    }


@contextmanager
def staged_trace(out: Place) -> Iterator[Place]:
    """A folder to write tables to; it becomes the trace when the block ends, and not before.

    A block that fails leaves nothing; the leavings of a job that was killed are removed by the
    next one. A trace that stands under the name is replaced, any other folder is refused; at an
    address, where the old one would be gone before the new one is there, a trace is refused, too.
    """
    if isinstance(out, Address):
        with _written_in_place(out):
            yield out
        return
    target = refuse_no_trace(out)
    aside = target.with_name(f".{target.name}{ASIDE}")
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


def write_table(frame: DataFrame, folder: Place, table: Table) -> None:
    """Write one table into a staged trace, with the committer that Spark is set to use."""
    (
        conform(frame, table)
        .write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        .option("compression", "zstd")
        .parquet(spark_target(folder / table.name))
    )


def write_rows(rows: pa.Table, folder: Path, table: Table) -> None:
    """Write one table into a staged trace on this machine, as Spark would have it."""
    own = folder / table.name
    try:
        own.mkdir()
        pq.write_table(
            rows.cast(arrow_schema(table)),
            own / "part-00000.zstd.parquet",
            row_group_size=ROWS_OF_A_GROUP,
            compression="zstd",
            store_schema=False,
        )
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OperatorError(
            f"{folder.parent / folder.name.removeprefix('.').removesuffix(ASIDE)}: this cannot be "
            f"written ({reason.lower()}); make room or choose another folder."
        ) from error


def table_folder(trace: Place, table: Table) -> Place:
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
    if not out.exists():
        return refuse_unwritable(out)
    target = out.resolve()
    if not target.is_dir() or any(
        entry.name not in TRACE_TABLES or not entry.is_dir() for entry in target.iterdir()
    ):
        raise OperatorError(f"{out}: this is no trace and is not replaced; choose another name.")
    if not os.access(target.parent, os.W_OK):
        raise OperatorError(f"{out}: {why_closed(target.parent)}; choose another folder.")
    return target


def _names_at(trace: Address) -> set[str]:
    """What is in the folder of a trace at an address."""
    names = names_at(trace)
    if names is None:
        raise InputFileError(
            str(trace), "there is no such trace", remedy="name a folder that trace import wrote"
        )
    return names


def _merged_schema(session: SparkSession, folder: Address) -> StructType:
    return session.read.option("mergeSchema", "true").parquet(spark_path(folder)).schema


@contextmanager
def _written_in_place(out: Address) -> Iterator[None]:
    """Hold a folder at an address; as long as it is held, and after a kill, it is no trace."""
    with alone_in(out) as was_left:
        found = (names_at(out) or set()) - {IN_USE}
        if not found <= TRACE_TABLES.keys():
            raise OperatorError(f"{out}: this is no trace; choose another name.")
        if found and not was_left:
            raise OperatorError(
                f"{out}: a trace is here already, and at an address none is replaced; remove it, "
                "or choose another name."
            )
        tables = [out / name for name in TRACE_TABLES]
        for table in tables:
            remove(table)
        with removed_on_failure(*tables):
            yield


@contextmanager
def _only_writer(aside: Path, out: Path) -> Iterator[None]:
    """Hold the folder beside the target, empty; a lock on it dies with the job that holds it."""
    try:
        aside.mkdir(exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OperatorError(
            f"{out}: this cannot be written ({reason}); choose another folder."
        ) from None
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
