"""Records to rows of a table: each field as its kind, or the reason why it is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from meshwright.model.schema import QUARANTINE, Column, ColumnKind, Table
from meshwright.pipeline.imports.lines import LINES, ORIGIN
from meshwright.pipeline.tables.frames import SPARK_TYPES, conform
from meshwright.pipeline.tables.values import is_unfit, wanted

DAY = r"\d{4}-\d{2}-\d{2}"
CLOCK = r"\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
ZONE = r"(Z|[+-]\d{2}:?\d{2})?"
FORMS: dict[ColumnKind, str] = {
    "time": f"^{DAY}[T ]{CLOCK}{ZONE}$",
    "text": "",
    "whole": r"^\d{1,18}$",
    "number": r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$",
    "truth": "^(?i)(true|false|0|1)$",
}
# Of rows that are alike there may be many of one kind: far fewer than fit into memory.
BROADCAST_ROWS_MAX = 100_000
REPEATS = "it repeats line "


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
        *(sf.col(source).alias(f"{name} text") for name, source in sources.items()),
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


def without_repetitions(rows: DataFrame, table: Table) -> Judged:
    """The same rows; those equal to an earlier one in every column have that as their reason.

    Rows are alike by one number first, which all of them are counted by here and now: of most
    tables few rows are left to be compared in full, or none.
    """
    kept = rows.withColumn("likeness", sf.xxhash64(*table.column_names())).persist()
    good = kept.filter("reason is null")
    counts = good.groupBy("likeness").agg(sf.count(sf.lit(1)).alias("count"))
    alike = counts.filter("count > 1").select("likeness").persist()
    alike_count = alike.count()
    if not alike_count:
        return Judged(kept, (alike, kept))
    is_little = alike_count <= BROADCAST_ROWS_MAX
    found = marked_repetitions(kept, alike, table, is_little=is_little)
    return found._replace(kept=(*found.kept, alike, kept))


def marked_repetitions(
    rows: DataFrame, alike: DataFrame, table: Table, *, is_little: bool
) -> Judged:
    """The same rows, compared in full where their likeness is one of those that several have.

    alike: each such likeness; is_little: they fit into every executor.
    """
    good = rows.filter("reason is null")
    suspects = good.join(sf.broadcast(alike) if is_little else alike, "likeness", how="left_semi")
    repetitions = _repetitions(suspects, table.column_names()).persist()
    told = rows.join(
        sf.broadcast(repetitions) if is_little else repetitions, ["file_number", "line"], how="left"
    )
    reason = sf.coalesce("reason", "repetition")
    return Judged(told.withColumn("reason", reason), (repetitions,))


def _repetitions(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """file_number, line and repetition of rows that are equal to an earlier one."""
    equal = Window.partitionBy("likeness", *columns).orderBy("file_number", "line")
    first_line, first_file = (sf.first(name).over(equal) for name in ("line", "file"))
    same_file = first_file == sf.col("file")
    where = sf.when(same_file, sf.lit("")).otherwise(sf.concat(sf.lit(" of "), first_file))
    return (
        rows.select(
            "file_number",
            "line",
            sf.row_number().over(equal).alias("place"),
            sf.concat(sf.lit(REPEATS), first_line, where).alias("repetition"),
        )
        .filter("place > 1")
        .drop("place")
    )


def quarantined(rows: DataFrame) -> DataFrame:
    """Rows that have a reason, as the table of the refused."""
    return conform(rows.filter("reason is not null").withColumnRenamed("text", "row"), QUARANTINE)


def usable(found: Judged, table: Table) -> DataFrame:
    """Rows that have no reason, as the table they are of."""
    good = conform(found.rows.filter("reason is null"), table)
    return good if found.plain is None else found.plain.unionByName(good)


def _value(column: Column) -> SparkColumn:
    """The field as its kind, or null."""
    text = sf.col(f"{column.name} text")
    if column.kind == "text":
        return text
    value = text.try_cast(SPARK_TYPES[column.kind])
    return sf.when(text.rlike(FORMS[column.kind]), value)


def _fault(column: Column, source: str) -> SparkColumn:
    """Why the field cannot be used, or null; the source's own word for the column is used."""
    text, value = sf.col(f"{column.name} text"), sf.col(column.name)
    is_bad = text.isNotNull() & value.isNull()
    reason = sf.when(is_bad, f"{source} cannot be read")
    if column.kind == "number":
        reason = sf.when(is_bad | is_unfit(column, value), f"{source} is not {wanted(column)}")
    elif column.kind == "time":
        unfit = sf.when(is_unfit(column, value), f"{source} is not {wanted(column)}")
        reason = sf.coalesce(reason, unfit)
    if column.is_required:
        reason = sf.when(text.isNull(), f"{source} is missing").otherwise(reason)
    return reason
