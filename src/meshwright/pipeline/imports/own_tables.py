"""Files that hold a table of a trace as it is: CSV with its columns, or JSON with its keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import SparkSession

from meshwright.errors import OperatorError
from meshwright.model.schema import QUARANTINE, TRACE_TABLES, Table
from meshwright.pipeline.imports.csv_tables import judged_csv
from meshwright.pipeline.imports.imported import Imported, plainly_imported
from meshwright.pipeline.imports.json_lines import json_records
from meshwright.pipeline.imports.judging import judged
from meshwright.pipeline.imports.lines import first_line
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.records import csv_header
from meshwright.pipeline.imports.repetitions import without_repetitions


def check_table(path: Path, parameters: ImportParameters) -> None:
    """Refuse a file that is of no table, or has other columns."""
    table = TRACE_TABLES[_table_name(path, parameters)]
    if parameters.format == "csv":
        csv_header(path, *_columns(table))
    else:
        first_line(path)


def imported_tables(
    session: SparkSession, paths: Sequence[Path], parameters: ImportParameters
) -> Imported:
    """One table for each name: the one that is asked for, or that of each file."""
    files: dict[str, list[Path]] = {}
    for path in paths:
        files.setdefault(_table_name(path, parameters), []).append(path)
    return reduce(
        Imported.beside,
        [
            _imported_table(session, found, TRACE_TABLES[name], parameters)
            for name, found in files.items()
        ],
    )


def _imported_table(
    session: SparkSession, paths: Sequence[Path], table: Table, parameters: ImportParameters
) -> Imported:
    if parameters.format == "csv":
        required, optional = _columns(table)
        found = judged_csv(session, paths, table, {}, required=required, optional=optional)
        return plainly_imported(found, table)
    records = json_records(session, paths, table)
    return plainly_imported(without_repetitions(judged(records, table), table), table)


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
