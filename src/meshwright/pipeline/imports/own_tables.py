"""Files that hold a table of a trace as it is: CSV with its columns, or JSON with its keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import SparkSession

from meshwright.errors import OperatorError
from meshwright.model.schema import QUARANTINE, TRACE_TABLES, Table
from meshwright.pipeline.imports.csv_tables import CsvTable, judged_csv
from meshwright.pipeline.imports.imported import Imported, plainly_imported
from meshwright.pipeline.imports.json_lines import json_records
from meshwright.pipeline.imports.judging import judged
from meshwright.pipeline.imports.lines import first_line
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.records import csv_header
from meshwright.pipeline.imports.repetitions import without_repetitions


def check_table(path: Path, parameters: ImportParameters) -> None:
    """Refuse a file that cannot be read, is of no table, or has other columns."""
    first_line(path)
    table = TRACE_TABLES[_table_name(path, parameters)]
    if parameters.format == "csv":
        csv_header(path, *_columns(table))


def csv_tables(paths: Sequence[Path], parameters: ImportParameters) -> list[CsvTable]:
    """The tables that CSV files are, with the files of each."""
    return [
        CsvTable(files, TRACE_TABLES[name], {}, *_columns(TRACE_TABLES[name]))
        for name, files in _by_table(paths, parameters).items()
    ]


def imported_csv(
    session: SparkSession, paths: Sequence[Path], parameters: ImportParameters
) -> Imported:
    """The tables of CSV files."""
    return reduce(
        Imported.beside,
        [
            plainly_imported(judged_csv(session, source), source.table)
            for source in csv_tables(paths, parameters)
        ],
    )


def imported_json(
    session: SparkSession, paths: Sequence[Path], parameters: ImportParameters
) -> Imported:
    """The tables of files of JSON lines."""
    return reduce(
        Imported.beside,
        [
            _imported_json(session, files, TRACE_TABLES[name])
            for name, files in _by_table(paths, parameters).items()
        ],
    )


def _imported_json(session: SparkSession, paths: Sequence[Path], table: Table) -> Imported:
    records = json_records(session, paths, table)
    return plainly_imported(without_repetitions(judged(records, table), table), table)


def _by_table(paths: Sequence[Path], parameters: ImportParameters) -> dict[str, list[Path]]:
    """Files by the table that is asked for, or that their names say."""
    files: dict[str, list[Path]] = {}
    for path in paths:
        files.setdefault(_table_name(path, parameters), []).append(path)
    return files


def _columns(table: Table) -> tuple[list[str], list[str]]:
    """Names of the columns that must be there, and of those that may."""
    required = [column.name for column in table.columns if column.is_required]
    return required, [column.name for column in table.columns if not column.is_required]


def _table_name(path: Path, parameters: ImportParameters) -> str:
    """The table of a file: subscriptions.csv.gz holds subscriptions."""
    name = parameters.table or path.name.split(".")[0]
    if name not in TRACE_TABLES or name == QUARANTINE.name:
        known = ", ".join(table for table in TRACE_TABLES if table != QUARANTINE.name)
        where = "--table" if parameters.table else f"{path}: the name of the file"
        raise OperatorError(f"{where} must be that of a table: {known}.")
    return name
