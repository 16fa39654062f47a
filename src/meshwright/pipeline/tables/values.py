"""Which values a column may have, the same for rows that are imported and for Parquet files."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from meshwright.filters.filter import WHERE_PREFIX
from meshwright.filters.taking import PREFIX
from meshwright.filters.topics import TEXT_BYTES_MAX
from meshwright.model.schema import Column, Table, TextForm
from meshwright.model.times import SECOND_US
from meshwright.pipeline.tables.frames import SPARK_TYPES

NUMBER_MAX = 1.7e308
RANGES = {
    "latitude": (-90.0, 90.0),
    "longitude": (-180.0, 180.0),
    "delay_ms": (0.0, NUMBER_MAX),
}
WHOLE_MAX = 2**63 - 1
# Times before and after are those of a clock that was never set: slots up to them would not end.
FIRST_YEAR, LAST_YEAR = 1970, 2199
FIRST_US, AFTER_US = 0, 7_258_118_400 * SECOND_US
BLANK = "[ \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
# Java finds one of these in whatever filters.topics, filters.filter and files.reading.name_fault
# refuse. Clauses of content are left to planning, where a filter with wrong ones takes nothing.
UNFIT_TEXT: dict[TextForm, str] = {
    "client": r"^\z|\x00",
    "broker": rf"^\z|^{BLANK}|{BLANK}\z|[\x00-\x1f\x7f-\x9f]",
    "topic name": r"^\z|[+#\x00]",
    "topic filter": (
        rf"(?s)\x00|^(?>{PREFIX.removeprefix('^')})"
        r"(?:\z|\$(?:share|where)/|.*(?:[^/][+#]|\+[^/]|#.))"
    ),
}
TEXT_WANTED: dict[TextForm, str] = {
    "any": "text in UTF-8",
    "client": "a client id (1 to 65,535 bytes of UTF-8, no U+0000)",
    "broker": "the name of a broker (UTF-8, no blanks around it, no control characters)",
    "topic name": "a topic name (1 to 65,535 bytes of UTF-8, no +, # or U+0000)",
    "topic filter": (
        "a topic filter (1 to 65,535 bytes of UTF-8, + and # each a whole level, # the last)"
    ),
}
# A broker adds the user that a client came in as, which MQTT lets be as long as the client id.
USER = r"@[^@]*\z"
# Begins and parts what is said of a value in the middle of a job.
UNFIT = "\x1f"


def range_of(column: Column) -> tuple[float, float] | None:
    """The least and the greatest value, a time in microseconds; None where any will do."""
    if column.kind == "time":
        return FIRST_US, AFTER_US - 1
    if column.kind == "whole":
        return 0, WHOLE_MAX
    if column.kind == "number":
        return RANGES.get(column.name, (-NUMBER_MAX, NUMBER_MAX))
    return None


def wanted(column: Column) -> str:
    """What a value of a column must be."""
    if column.kind == "text":
        return TEXT_WANTED[column.form]
    if column.kind == "time":
        return f"a time in the years {FIRST_YEAR} to {LAST_YEAR}"
    if column.kind == "whole":
        return f"a whole number from 0 to {WHOLE_MAX:,}"
    if column.kind == "truth":
        return "true or false"
    if column.name not in RANGES:
        return "a finite number"
    least, greatest = RANGES[column.name]
    if greatest == NUMBER_MAX:
        return f"a finite number from {least:g}"
    return f"a number from {least:g} to {greatest:g}"


def is_unfit(column: Column, value: SparkColumn) -> SparkColumn:
    """Whether a value is none that the column may have; null where there is no value."""
    if column.kind == "text":
        return _is_unfit_text(column.form, value)
    found = range_of(column)
    if found is None:
        return sf.lit(False)
    value = sf.unix_micros(value) if column.kind == "time" else value
    # Spark has it that nan is greater than any number.
    return ~value.between(*map(sf.lit, found))


def _is_unfit_text(form: TextForm, value: SparkColumn) -> SparkColumn:
    is_unfit = ~sf.is_valid_utf8(value)
    if form in UNFIT_TEXT:
        is_unfit |= value.rlike(UNFIT_TEXT[form])
    is_long = sf.octet_length(value) > TEXT_BYTES_MAX
    if form == "client":
        is_unfit |= is_long & (sf.octet_length(sf.regexp_replace(value, USER, "")) > TEXT_BYTES_MAX)
    if form in {"topic name", "topic filter"}:
        # Brokers tell of clauses in one spelling, which may be longer than the client's.
        is_unfit |= is_long & ~value.contains(WHERE_PREFIX)
    return is_unfit


def checked(frame: DataFrame, table: Table, *, has_gaps: bool = False) -> DataFrame:
    """The same rows of Parquet files; a job ends at a value that cannot be, and names its file.

    has_gaps: values may be missing where there must be some.
    """
    fit = {}
    for column in table.columns:
        value = sf.col(column.name)
        if column.kind != "truth":
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
