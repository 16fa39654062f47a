"""Where the tables of stages are kept: in folders that all machines of Spark see, or at addresses.

A folder is named by a digest of what made its table: our own sources, the parameters, and the
digests of the tables that went in. So a table that stands under its name need not be made again.
Tables kept in Spark's memory would drag all that made them along: plans and tasks of the last
stages were then larger than their work.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import msgspec
from pyspark.sql import DataFrame, SparkSession

from meshwright.errors import OperatorError
from meshwright.files.writing import make_folder
from meshwright.model.schema import Table
from meshwright.pipeline.places.hadoop import files_at, is_committed, removed_after
from meshwright.pipeline.places.place import Address, Place, spark_path, spark_target
from meshwright.pipeline.spark.session import cancel_jobs, runs_here
from meshwright.pipeline.tables.frames import conform, spark_schema

PACKAGE = Path(__file__).parents[2]
DIGEST_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Kept:
    """A table that was made, and the digest of what made it."""

    frame: DataFrame
    digest: str


class Keeper:
    """Keeps every table in a folder of its own; one that was half-written never has its name."""

    def __init__(
        self,
        session: SparkSession,
        folder: Place,
        *,
        on_begin: Callable[[str], None] | None = None,
        on_stage: Callable[[str, bool, float], None] | None = None,
    ) -> None:
        """on_begin is told the name of every stage that is made now, before it is made.

        on_stage is told of every stage: its name, whether it was made now, and the seconds.
        """
        self.session = session
        self.folder = folder if isinstance(folder, Address) else make_folder(folder).resolve()
        self.on_begin = on_begin
        self.on_stage = on_stage
        self.folders: dict[str, Place] = {}

    def keep(
        self,
        table: Table,
        make: Callable[[], DataFrame],
        inputs: Sequence[Kept],
        parameters: Mapping[str, Any],
    ) -> Kept:
        """The table of a stage as it is read from its folder, made now or before."""
        digest = digest_of(table.name, inputs, parameters)
        home = self.folder / f"{table.name}-{digest}"
        began_s = time.monotonic()
        is_new = not (is_committed(home) if isinstance(home, Address) else home.exists())
        if is_new:
            if self.on_begin is not None:
                self.on_begin(table.name)
            _write(conform(make(), table), home)
        self.folders[table.name] = home
        if self.on_stage is not None:
            self.on_stage(table.name, is_new, time.monotonic() - began_s)
        frame = self.session.read.schema(spark_schema(table)).parquet(spark_path(home))
        return Kept(conform(frame, table), digest)


@contextmanager
def passing_keeper(
    session: SparkSession, trace: Place, *, on_begin: Callable[[str], None] | None = None
) -> Iterator[Keeper]:
    """A keeper whose tables are gone when the block ends."""
    is_here = runs_here(session)
    if isinstance(trace, Address) and not is_here:
        address = trace.parent / f"_replay-{uuid4().hex}"
        with removed_after(address), _cancelled_when_stopped(session):
            yield Keeper(session, address, on_begin=on_begin)
        return
    place = None if is_here or isinstance(trace, Address) else _shared_folder(trace)
    with (
        # A task that is being cancelled may still write.
        TemporaryDirectory(prefix=".replay-", dir=place, ignore_cleanup_errors=True) as folder,
        _cancelled_when_stopped(session),
    ):
        yield Keeper(session, Path(folder), on_begin=on_begin)


@contextmanager
def _cancelled_when_stopped(session: SparkSession) -> Iterator[None]:
    """Have Spark write no more into a folder that is about to be removed."""
    try:
        yield
    except KeyboardInterrupt:
        cancel_jobs(session)
        raise


def digest_of(name: str, inputs: Sequence[Kept], parameters: Mapping[str, Any]) -> str:
    """What a stage's table depends on, in few characters."""
    ingredients = [name, source_digest(), [kept.digest for kept in inputs], parameters]
    encoded = msgspec.json.encode(ingredients, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:DIGEST_LENGTH]


def files_digest(folder: Place) -> str:
    """Which files a folder has, how long and how old they are."""
    digest = hashlib.sha256()
    if isinstance(folder, Address):
        for file in files_at(folder) or ():
            digest.update(f"{file.name} {file.size} {file.written_us}\n".encode())
        return digest.hexdigest()[:DIGEST_LENGTH]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            stamp = path.stat()
            name = path.relative_to(folder).as_posix()
            digest.update(f"{name} {stamp.st_size} {stamp.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:DIGEST_LENGTH]


def _write(frame: DataFrame, home: Place) -> None:
    """Write a table to its folder; what stands there half-written is no table.

    At an address the mark of Spark's committer says that a table is whole, on this machine its
    name.
    """
    writer = frame.write.option("compression", "zstd")
    if isinstance(home, Address):
        marked = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true")
        marked.mode("overwrite").parquet(spark_target(home))
        return
    aside = home.with_name(f".{home.name}.aside")
    shutil.rmtree(aside, ignore_errors=True)
    writer.parquet(spark_target(aside))
    aside.rename(home)


def _shared_folder(trace: Path) -> Path:
    """Beside the trace, which all machines of a cluster see."""
    folder = trace.resolve().parent
    if not os.access(folder, os.W_OK):
        raise OperatorError(
            f"{folder}: a cluster keeps its tables beside the trace, and this folder is read-only; "
            "copy the trace, or name a folder in the settings of pipeline run."
        )
    return folder


@cache
def source_digest() -> str:
    """Our own code: what another version made is not taken for what this one would make."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:DIGEST_LENGTH]
