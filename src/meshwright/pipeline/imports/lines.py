"""Lines of text files with their true numbers, however Spark splits the files.

Spark numbers rows in the order of its own splits. The lines of one split follow each other there,
so a count of lines per split tells how far each split's numbers are from the file's.
"""

from __future__ import annotations

import gzip
import zlib
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError
from meshwright.pipeline.traces import spark_path

ORIGIN = ("file", "file_number", "line", "text")
HEADER_BYTES_MAX = 65_536
BYTE_ORDER_MARK = "\ufeff"


def numbered_lines(session: SparkSession, path: Path, file_number: int) -> DataFrame:
    """Lines that are not blank: (file, file_number, line, text); the first line is number 1."""
    rows = session.read.option("lineSep", "\n").text(spark_path(path))
    split = sf.col("_metadata.file_block_start").alias("split")
    place = sf.monotonically_increasing_id().alias("place")
    lines = rows.select(split, place, sf.rtrim("value", sf.lit("\r")).alias("text"))
    # The one file is named as a partition, or else Spark warns of a window over everything.
    in_file = (
        Window.partitionBy(sf.lit(file_number))
        .orderBy("split")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    splits = (
        rows.select(split, place)
        .groupBy("split")
        .agg(sf.min("place").alias("first"), sf.count(sf.lit(1)).alias("count"))
        .withColumn("lines_before", sf.coalesce(sf.sum("count").over(in_file), sf.lit(0)))
        .drop("count")
    )
    line = sf.col("place") - sf.col("first") + sf.col("lines_before") + 1
    return (
        lines.join(sf.broadcast(splits), "split", how="inner")
        .select(
            sf.lit(str(path)).alias("file"),
            sf.lit(file_number).alias("file_number"),
            line.alias("line"),
            sf.when(line == 1, sf.ltrim("text", sf.lit(BYTE_ORDER_MARK)))
            .otherwise(sf.col("text"))
            .alias("text"),
        )
        .filter(sf.trim("text") != "")
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
