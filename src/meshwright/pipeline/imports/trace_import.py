"""Import as one act: judge the files, write the trace and its quarantine, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError
from meshwright.model.schema import QUARANTINE, TRACE_TABLES
from meshwright.pipeline.imports.foursquare import check_foursquare, imported_foursquare
from meshwright.pipeline.imports.friends import check_friends, imported_friends
from meshwright.pipeline.imports.gowalla import check_gowalla, imported_gowalla
from meshwright.pipeline.imports.imported import Imported
from meshwright.pipeline.imports.judging import Judged, quarantined
from meshwright.pipeline.imports.lines import distinct_files, united
from meshwright.pipeline.imports.mosquitto_log import check_mosquitto_log, imported_mosquitto_log
from meshwright.pipeline.imports.own_tables import check_table, imported_tables
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.repetitions import REPEATS
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.tables.traces import row_counts, staged_trace, write_table


class Importer(NamedTuple):
    """How files of a format are checked by their first line, without Spark, and how imported."""

    check: Callable[[Path, ImportParameters], object]
    imported: Callable[[SparkSession, Sequence[Path], ImportParameters], Imported]


FORMATS: dict[str, Importer] = {
    "gowalla": Importer(check_gowalla, imported_gowalla),
    "foursquare": Importer(check_foursquare, imported_foursquare),
    "csv": Importer(check_table, imported_tables),
    "jsonl": Importer(check_table, imported_tables),
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


def _counted(refused: DataFrame) -> dict[str, int]:
    """Refused rows by reason, most frequent first."""
    reason = sf.regexp_replace("reason", f"^{REPEATS}.*", "it repeats an earlier row")
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
    others = f", and {count - 1:,} other rows are refused too" if count > 1 else ""
    return InputFileError(
        worst[0]["file"],
        f"{worst[0]['reason']}{others}",
        remedy="correct the file, or import without --strict",
        line=worst[0]["line"],
    )
