"""Which values a column may have, the same for rows that are imported and for Parquet files."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from meshwright.model.schema import Column, Table
from meshwright.model.times import SECOND_US
from meshwright.pipeline.tables.frames import SPARK_TYPES

LIMITS = {"latitude": 90.0, "longitude": 180.0}
NUMBER_MAX = 1.7e308
# Times before and after are those of a clock that was never set: slots up to them would not end.
FIRST_YEAR, LAST_YEAR = 1970, 2199
FIRST_US, AFTER_US = 0, 7_258_118_400 * SECOND_US
# Begins and parts what is said of a value in the middle of a job.
UNFIT = "\x1f"


def range_of(column: Column) -> tuple[float, float] | None:
    """The least and the greatest value, a time in microseconds; None where any will do."""
    if column.kind == "time":
        return FIRST_US, AFTER_US - 1
    if column.kind == "number":
        limit = LIMITS.get(column.name, NUMBER_MAX)
        return -limit, limit
    return None


def wanted(column: Column) -> str:
    """What a value of a column with a range must be."""
    if column.kind == "time":
        return f"a time in the years {FIRST_YEAR} to {LAST_YEAR}"
    limit = LIMITS.get(column.name)
    return "a finite number" if limit is None else f"a number from {-limit:g} to {limit:g}"


def is_unfit(column: Column, value: SparkColumn) -> SparkColumn:
    """Whether a value of a column with a range is out of it; not a number is."""
    value = sf.unix_micros(value) if column.kind == "time" else value
    found = range_of(column)
    assert found is not None, column.name
    # Spark has it that nan is greater than any number.
    return ~value.between(*map(sf.lit, found))


def checked(frame: DataFrame, table: Table, *, has_gaps: bool = False) -> DataFrame:
    """The same rows of Parquet files; a job ends at a value that cannot be, and names its file.

    has_gaps: values may be missing where there must be some.
    """
    fit = {}
    for column in table.columns:
        value = sf.col(column.name)
        if range_of(column) is not None:
            fault = _fault(column, f"{column.name} is not {wanted(column)}")
            fit[column.name] = sf.when(is_unfit(column, value), fault).otherwise(value)
        if has_gaps and column.is_required:
            fault = _fault(column, f"a row has no {column.name} ({column.meaning})")
            known = fit.get(column.name, value)
            fit[column.name] = sf.when(value.isNull(), fault).otherwise(known)
    return frame.withColumns(fit) if fit else frame


def _fault(column: Column, problem: str) -> SparkColumn:
    """Ends a job with what is wrong with a value of a column, and in which file."""
    said = [sf.col("_metadata.file_path"), sf.lit(problem)]
    fault = sf.raise_error(sf.concat_ws(UNFIT, sf.lit(""), *said, sf.lit("")))
    return fault.cast(SPARK_TYPES[column.kind])
