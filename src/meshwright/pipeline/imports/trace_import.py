"""Import as one act: judge the files, write the trace and its quarantine, or nothing at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError
from meshwright.model.schema import QUARANTINE, TRACE_TABLES
from meshwright.pipeline.imports.csv_tables import CsvTable, text_bytes
from meshwright.pipeline.imports.foursquare import check_foursquare, imported_foursquare
from meshwright.pipeline.imports.friends import check_friends, friends_here, imported_friends
from meshwright.pipeline.imports.gowalla import check_gowalla, gowalla_table, imported_gowalla
from meshwright.pipeline.imports.imported import Imported
from meshwright.pipeline.imports.judging import Judged, quarantined
from meshwright.pipeline.imports.lines import distinct_files, united
from meshwright.pipeline.imports.mosquitto_log import check_mosquitto_log, imported_mosquitto_log
from meshwright.pipeline.imports.own_tables import (
    check_table,
    csv_tables,
    imported_csv,
    imported_json,
)
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.repetitions import REPEATS
from meshwright.pipeline.imports.without_spark import ReadTable, read_here
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.tables.traces import row_counts, staged_trace, write_rows, write_table

# More text is read sooner by all cores, and Spark's start counts little beside it.
BYTES_WITHOUT_SPARK_MAX = 1 << 29
REPEATED = "it repeats an earlier row"


class Importer(NamedTuple):
    """How files of a format are checked by their first line, without Spark, and how imported.

    tables: what CSV files are that are tables as they are, which may be read without Spark, too.
    """

    check: Callable[[Path, ImportParameters], object]
    imported: Callable[[SparkSession, Sequence[Path], ImportParameters], Imported]
    tables: Callable[[Sequence[Path], ImportParameters], list[CsvTable]] | None = None


FORMATS: dict[str, Importer] = {
    "gowalla": Importer(check_gowalla, imported_gowalla, gowalla_table),
    "foursquare": Importer(check_foursquare, imported_foursquare),
    "csv": Importer(check_table, imported_csv, csv_tables),
    "jsonl": Importer(check_table, imported_json),
    "mosquitto-log": Importer(check_mosquitto_log, imported_mosquitto_log),
}


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """Rows of every table that was written, and how many rows were refused for which reason."""

    row_counts: dict[str, int]
    refused: dict[str, int]


def refuse_files(paths: Sequence[Path], parameters: ImportParameters, friends: Path | None) -> None:
    """Say at once which file cannot be read or is not of the format."""
    for path in paths:
        FORMATS[parameters.format].check(path, parameters)
    if friends is not None:
        check_friends(friends)


def import_trace(
    session: SparkSession,
    paths: Sequence[Path],
    parameters: ImportParameters,
    *,
    friends: Path | None,
    out: Place,
) -> ImportSummary:
    """Write a trace of the files; rows that cannot be used go to its quarantine.

    Strict: a single such row, and nothing is written.
    """
    with staged_trace(out) as folder, ExitStack() as ending:
        files = distinct_files(paths)
        imported = FORMATS[parameters.format].imported(session, files, parameters)
        if friends is not None:
            imported = imported.beside(imported_friends(session, friends))
        refused = united([quarantined(found.rows) for found in imported.judged]).persist()
        for frame in (*(kept for found in imported.judged for kept in found.kept), refused):
            ending.callback(frame.unpersist)
        for name, frame in imported.tables.items():
            write_table(frame, folder, TRACE_TABLES[name])
        write_table(refused, folder, QUARANTINE)
        counts = row_counts(folder)
        reasons = _counted(refused) if counts[QUARANTINE.name] else {}
        if parameters.is_strict and reasons:
            raise _strict_fault(imported.judged, counts[QUARANTINE.name])
    return ImportSummary(counts, reasons)


def is_little(paths: Sequence[Path]) -> bool:
    """Whether files are read as soon without Spark."""
    return text_bytes(paths) <= BYTES_WITHOUT_SPARK_MAX


def import_without_spark(
    paths: Sequence[Path], parameters: ImportParameters, *, friends: Path | None, out: Path
) -> ImportSummary | None:
    """The same of CSV files that are tables as they are; None: these are for Spark."""
    found = _read_here(paths, parameters, friends)
    if found is None:
        return None
    refused = pa.concat_tables([own.quarantine() for own in found])
    if parameters.is_strict and len(refused):
        own = next(own for own in found if own.refused)
        raise _told_strict(*own.origin(own.refused[0]), own.refused[0].reason, len(refused))
    with staged_trace(out) as folder:
        assert isinstance(folder, Path)  # as the trace itself is
        for own in found:
            write_rows(own.rows, folder, own.table)
        write_rows(refused, folder, QUARANTINE)
        counts = row_counts(folder)
    reasons = Counter(
        REPEATED if row.reason.startswith(REPEATS) else row.reason
        for own in found
        for row in own.refused
    )
    return ImportSummary(counts, dict(sorted(reasons.items(), key=lambda own: (-own[1], own[0]))))


def _read_here(
    paths: Sequence[Path], parameters: ImportParameters, friends: Path | None
) -> list[ReadTable] | None:
    """All tables, or None where one of them is for Spark."""
    tables = FORMATS[parameters.format].tables
    if tables is None:
        return None
    found = []
    for source in tables(distinct_files(paths), parameters):
        found.append(read_here(source))
        if found[-1] is None:
            return None
    if friends is not None:
        found.append(friends_here(friends))
    read = [own for own in found if own is not None]
    return read if len(read) == len(found) else None


def _counted(refused: DataFrame) -> dict[str, int]:
    """Refused rows by reason, most frequent first."""
    reason = sf.regexp_replace("reason", f"^{REPEATS}.*", REPEATED)
    counts = refused.groupBy(reason.alias("reason")).agg(sf.count(sf.lit(1)).alias("row_count"))
    rows = counts.orderBy(sf.desc("row_count"), "reason").collect()
    return {row["reason"]: row["row_count"] for row in rows}


def _strict_fault(judged: Sequence[Judged], count: int) -> InputFileError:
    """The first refused row, in the order of the files."""
    for found in judged:
        worst = (
            found.rows.filter("reason is not null")
            .orderBy("file_number", "line")
            .limit(1)
            .collect()
        )
        if worst:
            break
    return _told_strict(worst[0]["file"], worst[0]["line"], worst[0]["reason"], count)


def _told_strict(file: str, line: int, reason: str, count: int) -> InputFileError:
    others = f", and {count - 1:,} other rows are refused too" if count > 1 else ""
    remedy = "correct the file, or import without --strict"
    return InputFileError(file, f"{reason}{others}", remedy=remedy, line=line)
