"""Lines of CSV as records: one text a column, and a reason where a line is no record.

A record is one line: a quoted field that goes on over several lines is refused, because files are
read in pieces and no piece can know whether it begins inside a quotation.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError
from meshwright.pipeline.imports.lines import ORIGIN, first_line, numbered_lines, united

# At a row with more of them Spark ends the job.
FIELDS_MAX = 20_480
CSV_OPTIONS = {
    "quote": '"',
    "escape": '"',
    "columnNameOfCorruptRecord": "malformed",
    "maxColumns": str(FIELDS_MAX + 1),
}
# Of the first line that it reads, Spark drops a byte order mark: no line begins with its own text.
NOTHING = "nothing"
CARRIAGE_RETURN = "a carriage return stands within the line"
OPEN_QUOTE = "a quoted field does not end on its line"


def csv_records(
    session: SparkSession,
    paths: Sequence[Path],
    required: Sequence[str],
    optional: Sequence[str] = (),
) -> DataFrame:
    """Records of CSV files that each begin with a header; the columns may stand in any order."""
    columns = [*required, *optional]
    return united(
        [
            records_of_lines(numbered_lines(session, files), header, columns)
            for header, files in by_header(paths, required, optional).items()
        ]
    )


def by_header(
    paths: Sequence[Path], required: Sequence[str], optional: Sequence[str]
) -> dict[tuple[str, ...], dict[int, Path]]:
    """The files with each header, by the numbers of their places."""
    found: dict[tuple[str, ...], dict[int, Path]] = {}
    for number, path in enumerate(paths):
        header = tuple(csv_header(path, required, optional))
        found.setdefault(header, {})[number] = path
    return found


def csv_header(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> list[str]:
    """The columns of a CSV file, checked."""
    header = _header(path, required)
    missing = [name for name in required if name not in header]
    strange = [name for name in header if name not in {*required, *optional}]
    if missing or strange or len(header) != len(set(header)):
        faults = [f"lacks {missing[0]!r}"] if missing else []
        faults += [f"has the extra {strange[0]!r}"] if strange else []
        choice = f" and may have {','.join(optional)}" if optional else ""
        raise InputFileError(
            str(path),
            f"the header {' and '.join(faults) or 'repeats a column'}",
            remedy=f"the columns must be {','.join(required)}{choice}",
            line=1,
        )
    return header


def _header(path: Path, required: Sequence[str]) -> list[str]:
    """The fields of a file's first line."""
    found = first_line(path)
    line = found.rstrip("\r\n")
    if not line.strip(" "):
        problem = "line 1 is empty" if found else "the file is empty"
        remedy = f"begin it with the header {','.join(required)}"
    elif "\r" in line:
        problem, remedy = CARRIAGE_RETURN, "end lines with a line feed"
    else:
        return next(csv.reader([line]))
    raise InputFileError(str(path), problem, remedy=remedy, line=1)


def records_of_lines(lines: DataFrame, header: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Records of lines of files with this header; a column that it lacks is null."""
    schema = ", ".join(f"`{name}` string" for name in [NOTHING, *header, "malformed"])
    text = sf.col("text")
    quotes = _count(text, '"')
    is_too_wide = _is_too_wide(text, len(header))
    readable = sf.when(~is_too_wide, sf.concat(sf.lit(","), text))
    return (
        lines.filter("line > 1")
        .withColumn("fields", sf.from_csv(readable, schema, CSV_OPTIONS))
        .select(
            *ORIGIN,
            *(
                (sf.col("fields")[name] if name in header else sf.lit(None))
                .cast("string")
                .alias(name)
                for name in names
            ),
            sf.coalesce(
                "reason",
                sf.when(text.contains("\r"), CARRIAGE_RETURN),
                sf.when(quotes % 2 == 1, OPEN_QUOTE),
                sf.when(
                    is_too_wide | sf.col("fields")["malformed"].isNotNull(),
                    field_count_fault(len(header)),
                ),
            ).alias("reason"),
        )
    )


def _is_too_wide(text: Column, count: int) -> Column:
    """Whether a line has so many commas that Spark cannot read it, and not this count of fields.

    Each quoted field becomes a single quote first, whatever it holds; no quote may be elsewhere.
    """
    fields = sf.regexp_replace(sf.regexp_replace(text, '"[^"]*+"', '"'), '"++', '"')
    is_wrong = (_count(fields, ",") != count - 1) | fields.rlike('[^,"]"|"[^,"]')
    return (_count(text, ",") >= FIELDS_MAX) & is_wrong


def _count(text: Column, character: str) -> Column:
    return sf.length(text) - sf.length(sf.replace(text, sf.lit(character), sf.lit("")))


def field_count_fault(count: int) -> str:
    """What is told of a row with more or fewer fields than its header."""
    return f"the row does not have {count} fields"
