"""What stands at an address, and the few files there that are no tables.

Tables are listed, read and written by Spark itself, so that a Connect server can do it, too. A
single file is written by Java of our own, which a Connect server is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import unquote
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.utils import is_remote

from meshwright.errors import OperatorError
from meshwright.pipeline.places.place import Address, spark_path
from meshwright.pipeline.spark.java import running_java

NO_FILE_SYSTEM = re.compile(r"No FileSystem for scheme|FileSystem not found")
HOST = re.compile(r"[^:/]+:(?://[^/]*)?")
NO_SUCH_FILE = "FileNotFoundException"
EXISTS_ALREADY = "FileAlreadyExists"
DONE = "_SUCCESS"  # what Spark's committers leave in a folder once all of a table is in it
REASON_SHOWN_MAX = 200


class StoredFile(NamedTuple):
    """A file below a folder: its name there, its bytes, and when it was written."""

    name: str
    size: int
    written_us: int


def files_at(folder: Address) -> list[StoredFile] | None:
    """All files below a folder in the order of their names; None where there is nothing.

    Those whose names begin with . or _, or that are below such a name, are somebody's notes.
    """
    with _reached(folder):
        listed = _listed(folder)
        if listed is None:
            return None
        rows = listed.select("path", "length", sf.unix_micros("modificationTime")).collect()
    return sorted(StoredFile(_below(folder, path), *stamp) for path, *stamp in rows)


def names_at(folder: Address) -> set[str] | None:
    """What is in a folder, as far as there are files in it; None where there is nothing."""
    with _reached(folder):
        listed = _listed(folder)
        paths = None if listed is None else listed.inputFiles()
    return (
        None
        if paths is None
        else {_below(folder, unquote(path)).partition("/")[0] for path in paths}
    )


def is_committed(table: Address) -> bool:
    """Whether a table stands that Spark has written to its end."""
    with _reached(table):
        return _listed(table / DONE) is not None


def remove(place: Address) -> None:
    """Remove a file, or a folder with all that is in it; one that is not there is removed."""
    with _reached(place):
        if is_remote():
            # What SQL says of it: the folder of a database goes with the database.
            session, name = SparkSession.active(), f"meshwright_{uuid4().hex}"
            session.sql(f"CREATE DATABASE {name} LOCATION {_quoted(place.text)}")
            session.sql(f"DROP DATABASE {name} CASCADE")
            return
        system, path = _java(place)
        system.delete(path, True)


@contextmanager
def removed_after(*places: Address) -> Iterator[None]:
    """Remove places when the block ends; if it fails, its own fault is told, not one of this."""
    with removed_on_failure(*places):
        yield
    for place in places:
        remove(place)


@contextmanager
def removed_on_failure(*places: Address) -> Iterator[None]:
    """Remove places if the block fails, as far as Spark still can."""
    try:
        yield
    except BaseException:
        with suppress(OperatorError):
            for place in places:
                remove(place)
        raise


def read_file(file: Address) -> bytes | None:
    """The bytes of a file; None if there is none."""
    with _reached(file):
        system, path = _java(file)
        try:
            stream = system.open(path)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()
        except Py4JError as error:
            if NO_SUCH_FILE in _reason(error):
                return None
            raise


def write_file(file: Address, content: bytes) -> None:
    """Write a file, or replace it; it has its name once all of it is there."""
    with _reached(file):
        system, path = _java(file)
        aside = file.parent / f"_{file.name}.{uuid4().hex}"
        _, aside_path = _java(aside)
        _write(system.create(aside_path, True), content)
        system.delete(path, False)
        if not system.rename(aside_path, path):
            raise OperatorError(f"{file}: the file cannot be written; check the folder's rights.")


def overwrite_file(file: Address, content: bytes) -> None:
    """Replace what is in a file; whoever reads it meanwhile may find it empty."""
    with _reached(file):
        system, path = _java(file)
        _write(system.create(path, True), content)


def create_file(file: Address, content: bytes) -> bool:
    """Write a file that nobody has written yet; False if somebody has."""
    with _reached(file):
        system, path = _java(file)
        try:
            _write(system.create(path, False), content)
        except Py4JError as error:
            if EXISTS_ALREADY in _reason(error):
                return False
            raise
    return True


def _write(stream: Any, content: bytes) -> None:
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def _listed(place: Address) -> DataFrame | None:
    """Spark's own listing of a file or a folder; None where there is nothing."""
    reader = SparkSession.active().read.format("binaryFile")
    try:
        listed = reader.option("recursiveFileLookup", "true").load(spark_path(place))
        _ = listed.schema  # a Connect server looks only when asked
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    return listed


def _java(place: Address) -> tuple[Any, Any]:
    """Hadoop's file system of a place, and the place as its path."""
    if is_remote():
        raise OperatorError(
            f"{place}: over Spark Connect results are not written to addresses; name a folder of "
            "this machine, or give --master."
        )
    java = running_java()
    path = java.org.apache.hadoop.fs.Path(place.text)
    session = java.org.apache.spark.sql.classic.SparkSession.active()
    return path.getFileSystem(session.sessionState().newHadoopConf()), path


@contextmanager
def _reached(place: Address) -> Iterator[None]:
    """Say in one sentence why Spark cannot get there."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        reason = _reason(error)
        if NO_FILE_SYSTEM.search(reason):
            raise OperatorError(
                f"{place}: Spark has no file system for {place.scheme}://; add its package with "
                "--conf spark.jars.packages, as docs/CLUSTER.md says."
            ) from error
        raise OperatorError(
            f"{place}: Spark cannot get there ({reason}); check the address and your rights."
        ) from error


def _reason(error: Exception) -> str:
    cause = getattr(error, "java_exception", None)
    text = str(cause.toString() if cause is not None else error).strip()
    text = text.partition("; For more details")[0]
    return text.splitlines()[0][:REASON_SHOWN_MAX] if text else type(error).__name__


def _below(folder: Address, path: str) -> str:
    """A file's name in a folder; Spark may name a host where the folder's address has none."""
    own, found = (HOST.sub("", text.rstrip("/")) for text in (folder.text, path))
    return found.removeprefix(f"{own}/")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
