"""Records to rows of a table: each field as its kind, or the reason why it is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.model.schema import QUARANTINE, Column, ColumnKind, Table
from meshwright.pipeline.imports.lines import LINES, ORIGIN
from meshwright.pipeline.tables.frames import SPARK_TYPES, conform
from meshwright.pipeline.tables.values import is_unfit, wanted

DAY = r"\d{4}-\d{2}-\d{2}"
CLOCK = r"\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
ZONE = r"(Z|[+-]\d{2}:?\d{2})?"
FORMS: dict[ColumnKind, str] = {
    "time": rf"^{DAY}[T ]{CLOCK}{ZONE}\z",
    "text": "",
    "whole": r"^\d+\z",
    "number": r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\z",
    "truth": r"^(?i)(true|false|0|1)\z",
}


# What such a field is told to be, where that is not what every value of its column must be.
WRITTEN: dict[ColumnKind, str] = {
    "time": "a date and a time of day, as in 2010-08-01T12:00:00Z",
    "truth": "true, false, 1 or 0",
}


class Faults(NamedTuple):
    """What is told of a field that cannot be used."""

    missing: str
    unreadable: str
    unfit: str


class Judged(NamedTuple):
    """Rows with a reason where one is refused; kept: what Spark holds until all is written.

    plain: rows of the table beside those, of which none is refused.
    """

    rows: DataFrame
    kept: tuple[DataFrame, ...]
    plain: DataFrame | None = None


def judged(records: DataFrame, table: Table, names: Mapping[str, str] | None = None) -> DataFrame:
    """Rows of the table beside their origin; a row that cannot be used has a reason.

    names says what the source calls a column of the table, where it has a name of its own.
    """
    sources = {column.name: (names or {}).get(column.name, column.name) for column in table.columns}
    texts = records.select(
        *ORIGIN,
        "reason",
        *(_said(c, sources[c.name]).alias(f"{c.name} text") for c in table.columns),
    )
    valued = texts.withColumns({column.name: _value(column) for column in table.columns})
    reason = sf.coalesce("reason", *(_fault(c, sources[c.name]) for c in table.columns))
    return valued.select(*ORIGIN, *table.column_names(), reason.alias("reason"))


def no_rows(session: SparkSession, table: Table) -> DataFrame:
    """Judged rows, of which there are none."""
    lines = session.createDataFrame([], LINES)
    return lines.select(
        *ORIGIN,
        *(sf.lit(None).cast(SPARK_TYPES[c.kind]).alias(c.name) for c in table.columns),
        "reason",
    )


def quarantined(rows: DataFrame) -> DataFrame:
    """Rows that have a reason, as the table of the refused."""
    return conform(rows.filter("reason is not null").withColumnRenamed("text", "row"), QUARANTINE)


def usable(found: Judged, table: Table) -> DataFrame:
    """Rows that have no reason, as the table they are of."""
    good = conform(found.rows.filter("reason is null"), table)
    return good if found.plain is None else found.plain.unionByName(good)


def trimmed(field: SparkColumn) -> SparkColumn:
    """A field without the blanks around it; nothing but blanks is no value."""
    return sf.nullif(sf.trim(field), sf.lit(""))


def _said(column: Column, source: str) -> SparkColumn:
    """What a field says: blanks around a number or a time are none of it, those of text are."""
    field = sf.col(source)
    return sf.nullif(field, sf.lit("")) if column.kind == "text" else trimmed(field)


def _value(column: Column) -> SparkColumn:
    """The field as its kind, or null."""
    text = sf.col(f"{column.name} text")
    if column.kind == "text":
        return text
    value = text.try_cast(SPARK_TYPES[column.kind])
    return sf.when(text.rlike(FORMS[column.kind]), value)


def faults_of(column: Column, source: str) -> Faults:
    """The source's own word for the column is used."""
    fit = wanted(column)
    form = WRITTEN.get(column.kind, fit)
    return Faults(f"{source} is missing", f"{source} is not {form}", f"{source} is not {fit}")


def _fault(column: Column, source: str) -> SparkColumn:
    """Why the field cannot be used, or null."""
    text, value = sf.col(f"{column.name} text"), sf.col(column.name)
    faults = faults_of(column, source)
    reason = sf.when(text.isNotNull() & value.isNull(), faults.unreadable)
    reason = reason.when(is_unfit(column, value), faults.unfit)
    if column.is_required:
        reason = sf.when(text.isNull(), faults.missing).otherwise(reason)
    return reason
