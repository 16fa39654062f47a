"""The Parquet files of a table, judged by their footers before any row is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as spark_types

from meshwright.errors import InputFileError
from meshwright.model.schema import Column, ColumnKind, Table
from meshwright.model.wording import counted
from meshwright.pipeline.places.place import Address, Place
from meshwright.pipeline.tables.values import range_of, wanted

IS_OF_KIND: dict[ColumnKind, Callable[[pa.DataType], bool]] = {
    "time": lambda kind: (
        pa.types.is_timestamp(kind) and kind.unit in {"us", "ms"} and kind.tz is not None
    ),
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    "whole": pa.types.is_signed_integer,
    "number": pa.types.is_floating,
    "truth": pa.types.is_boolean,
}
SPARK_KINDS: dict[ColumnKind, type[spark_types.DataType]] = {
    "time": spark_types.TimestampType,
    "text": spark_types.StringType,
    "whole": spark_types.IntegralType,
    "number": spark_types.FractionalType,
    "truth": spark_types.BooleanType,
}
KIND_WANTED: dict[ColumnKind, str] = {
    "time": "a time in UTC, to the micro- or millisecond",
    "text": "text",
    "whole": "a whole number of 64 bits",
    "number": "a number of 64 bits",
    "truth": "true or false",
}


def parts(folder: Path) -> list[Path]:
    """Files of a table; names that begin with . or _ are somebody's notes."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))


def row_count(part: Path) -> int:
    """Rows of one file, by its footer."""
    return int(_footer(part).num_rows)


def check_part(part: Path, table: Table, *, is_growing: bool = False) -> None:
    """Refuse a file that is cut short, is no Parquet, or has not the columns of the table.

    is_growing: telemetry, which nobody can make anew: its values are not judged here.
    """
    footer = _footer(part)
    schema = footer.schema.to_arrow_schema()
    for column in table.columns:
        if column.name not in schema.names:
            if not column.is_required:
                continue
            raise _lacking(part, table, column)
        position = schema.names.index(column.name)
        kind = schema.field(position).type
        is_sparks_own_time = (
            column.kind == "time" and footer.schema.column(position).physical_type == "INT96"
        )
        if not is_sparks_own_time and not IS_OF_KIND[column.kind](kind):
            raise _misfit(part, table, column, str(kind))
        _refuse_gaps(part, footer, column, position)
        if not is_growing:
            _refuse_unfit(part, footer, column, position)


def check_schema(folder: Address, schema: spark_types.StructType, table: Table) -> None:
    """Refuse files, taken together, that have not the columns of the table."""
    kinds = {field.name: field.dataType for field in schema}
    for column in table.columns:
        if column.name not in kinds:
            if column.is_required:
                raise _lacking(folder, table, column)
        elif not isinstance(kinds[column.name], SPARK_KINDS[column.kind]):
            raise _misfit(folder, table, column, kinds[column.name].simpleString())


def _lacking(place: Place, table: Table, column: Column) -> InputFileError:
    return InputFileError(
        str(place),
        f"the table {table.name} lacks the column {column.name} ({column.meaning})",
        remedy=f"the columns must be {', '.join(table.column_names())}",
    )


def _misfit(place: Place, table: Table, column: Column, kind: str) -> InputFileError:
    return InputFileError(
        str(place),
        f"the column {column.name} of the table {table.name} is {kind}",
        remedy=f"it must be {KIND_WANTED[column.kind]}",
    )


def _refuse_gaps(part: Path, footer: pq.FileMetaData, column: Column, position: int) -> None:
    """Refuse empty values where there must be none, as far as the footer counts them."""
    if not column.is_required:
        return
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(position).statistics
        if statistics is not None and statistics.has_null_count and statistics.null_count:
            raise InputFileError(
                str(part),
                f"{counted(statistics.null_count, 'row has', 'rows have')} no {column.name} "
                f"({column.meaning})",
                remedy="remove these rows, or import the table anew from its source",
            )


def _refuse_unfit(part: Path, footer: pq.FileMetaData, column: Column, position: int) -> None:
    """Refuse values that cannot be, as far as the footer has the least and the greatest."""
    found = range_of(column)
    described = footer.schema.column(position)
    if found is None or described.physical_type not in {"INT32", "INT64", "DOUBLE"}:
        return
    scale = 1
    if column.kind == "time":
        scale = 1000 if "milliseconds" in str(described.logical_type) else 1
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(position).statistics
        if statistics is None or not statistics.has_min_max:
            continue
        if not found[0] <= statistics.min_raw * scale <= statistics.max_raw * scale <= found[1]:
            raise InputFileError(
                str(part),
                f"{column.name} is not {wanted(column)}",
                remedy="correct the table, or import it anew",
            )


def _footer(part: Path) -> pq.FileMetaData:
    try:
        return pq.read_metadata(part)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise InputFileError(
            str(part),
            f"this is not a whole Parquet file ({_reason(error)})",
            remedy="make the trace anew",
        ) from None


def _reason(error: Exception) -> str:
    """The first sentence of what Arrow says, without the name of the file."""
    return str(error).split(". ")[0].split(": '")[0].rstrip(".")[:120]
