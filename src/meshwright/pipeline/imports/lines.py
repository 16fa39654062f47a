"""Lines of text files with their true numbers, however Spark splits the files.

Spark numbers rows in the order of its own splits. The lines of one split follow each other there,
so a count of lines per split tells how far each split's numbers are from the file's.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError
from meshwright.pipeline.places.place import spark_path

ORIGIN = ("file", "file_number", "line", "text")
HEADER_BYTES_MAX = 65_536
BYTE_ORDER_MARK = "\ufeff"
ROOT = "^file:/+"


def distinct_files(paths: Sequence[Path]) -> list[Path]:
    """The files in their order, each once, by whatever name it comes again."""
    first: dict[tuple[int, int], Path] = {}
    for path in paths:
        first_line(path)  # says what is wrong with one that cannot be read
        place = path.stat()
        first.setdefault((place.st_dev, place.st_ino), path)
    return list(first.values())


def numbered_lines(session: SparkSession, files: Mapping[int, Path]) -> DataFrame:
    """Lines that are not blank: ORIGIN and the reason why one is no text, or null.

    files: by the numbers that they get in file_number; all are read in one scan. The first line of
    each is number 1.
    """
    rows = session.read.option("lineSep", "\n").text([spark_path(path) for path in files.values()])
    address = sf.regexp_replace("_metadata.file_path", ROOT, "/").alias("address")
    split = sf.col("_metadata.file_block_start").alias("split")
    place = sf.monotonically_increasing_id().alias("place")
    lines = rows.select(address, split, place, sf.rtrim("value", sf.lit("\r")).alias("text"))
    in_file = (
        Window.partitionBy("address").orderBy("split").rowsBetween(Window.unboundedPreceding, -1)
    )
    splits = (
        rows.select(address, split, place)
        .groupBy("address", "split")
        .agg(sf.min("place").alias("first"), sf.count(sf.lit(1)).alias("count"))
        .withColumn("lines_before", sf.coalesce(sf.sum("count").over(in_file), sf.lit(0)))
        .join(sf.broadcast(_named(session, rows, files)), "address", how="inner")
        .drop("count")
    )
    line = sf.col("place") - sf.col("first") + sf.col("lines_before") + 1
    text = sf.when(line == 1, sf.ltrim("text", sf.lit(BYTE_ORDER_MARK))).otherwise(sf.col("text"))
    return (
        lines.join(sf.broadcast(splits), ["address", "split"], how="inner")
        .filter(sf.trim("text") != "")
        .select(
            "file",
            "file_number",
            line.alias("line"),
            sf.make_valid_utf8(text).alias("text"),
            sf.when(~sf.is_valid_utf8("text"), "this is not UTF-8 text").alias("reason"),
        )
    )


def _named(session: SparkSession, rows: DataFrame, files: Mapping[int, Path]) -> DataFrame:
    """address, file, file_number: what Spark calls a file, and what whoever gave it does."""
    numbers = {str(path.resolve()): number for number, path in files.items()}
    addresses = (re.sub(ROOT, "/", address) for address in rows.inputFiles())
    found = [(address, numbers[unquote(address)]) for address in addresses]
    return session.createDataFrame(
        [(address, str(files[number]), number) for address, number in found],
        "address string, file string, file_number long",
    )


def united(frames: list[DataFrame]) -> DataFrame:
    """Rows of all the frames, which have the same columns."""
    return reduce(DataFrame.unionByName, frames)


def first_line(path: Path) -> str:
    """The first line of a file, read here and now, so that a wrong file is refused at once."""
    try:
        with path.open("rb") as packed:
            file = gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed
            start = file.readline(HEADER_BYTES_MAX)
    except FileNotFoundError:
        raise InputFileError(str(path), "there is no such file", remedy="check the name") from None
    except IsADirectoryError:
        raise InputFileError(
            str(path), "this is a folder, not a file", remedy="name the files in it"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputFileError(
            str(path),
            "the name ends in .gz but this is not a whole gzip file",
            remedy="compress it again, or rename it",
        ) from None
    except OSError as error:
        raise InputFileError(
            str(path),
            f"the file cannot be read ({(error.strerror or str(error)).lower()})",
            remedy="check its name and permissions",
        ) from None
    try:
        return start.decode("utf-8").removeprefix(BYTE_ORDER_MARK).rstrip("\r\n")
    except UnicodeDecodeError:
        raise InputFileError(
            str(path), "this is not UTF-8 text", remedy="save the file as UTF-8", line=1
        ) from None
