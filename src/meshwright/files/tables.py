"""CSV tables with a header, as in RFC 4180: read strictly, row by row with their lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from meshwright.errors import InputFileError
from meshwright.files.reading import name_fault, read_text

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COLUMNS_SHOWN_MAX = 3
WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class TableRow:
    """Fields of one row in the order that was asked for, and the line where it begins."""

    path: Path
    line: int
    fields: tuple[str, ...]

    def fault(self, problem: str, remedy: str) -> InputFileError:
        """The error that points at this row."""
        return InputFileError(str(self.path), problem, remedy=remedy, line=self.line)

    def name(self, position: int, kind: str) -> str:
        """A field that names a broker, topic or client."""
        name = self.fields[position]
        if (fault := name_fault(name)) is not None:
            raise self.fault(f"the {kind} name {name!r} {fault}", f"give the {kind} a plain name")
        return name

    def amount(self, position: int, kind: str) -> float:
        """A field that is a finite number, zero or more."""
        text = self.fields[position]
        if not NUMBER.fullmatch(text):
            problem = f"{kind} {text!r} is not a finite number"
        elif (amount := float(text)) == float("inf"):
            problem = f"{kind} {text!r} is too large"
        elif amount < 0:
            problem = f"{kind} {text!r} is negative"
        else:
            return amount
        raise self.fault(problem, "give a number that is zero or more")

    def count(self, position: int, kind: str) -> int:
        """A field that is a whole number, zero or more."""
        text = self.fields[position]
        if not WHOLE_NUMBER.fullmatch(text):
            raise self.fault(
                f"{kind} {text!r} is not a whole number of zero or more",
                "give a number such as 120",
            )
        return int(text)


def read_table(
    path: Path, columns: tuple[str, ...], *, optional: str | None = None
) -> Iterator[TableRow]:
    """Rows of a CSV file with exactly these columns, in any order; blank lines are skipped.

    optional: a column that may be there, whose field comes last, or is empty where it is not.
    """
    wanted = ",".join(columns)
    records = _records(path)
    header_line, header = next(records, (1, []))
    if not header:
        raise InputFileError(
            str(path), "the file is empty", remedy=f"begin it with the header {wanted}", line=1
        )
    if optional in header:
        columns = (*columns, str(optional))
        optional = None
    order = _column_order(path, header_line, header, columns)
    absent = () if optional is None else ("",)
    row_count = 0
    for line, record in records:
        if len(record) != len(columns):
            raise InputFileError(
                str(path),
                f"the row has {len(record)} fields instead of {len(columns)}",
                remedy=f"give {wanted}, and quote a field that contains a comma",
                line=line,
            )
        row_count += 1
        yield TableRow(path, line, (*(record[position] for position in order), *absent))
    if not row_count:
        raise InputFileError(
            str(path),
            "there are no rows below the header",
            remedy=f"add at least one row of {wanted}",
            line=header_line,
        )


def table_bytes(columns: tuple[str, ...], rows: Iterable[Iterable[str]]) -> bytes:
    """A CSV file with a header, in UTF-8, lines ending in a line feed."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Records that are not blank, with the line where each begins."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputFileError(
            str(path),
            f"this is not a CSV row ({error})",
            remedy='write quotes inside a quoted field twice, as in "say ""yes"""',
            line=line,
        ) from None


def _column_order(
    path: Path, line: int, header: list[str], columns: tuple[str, ...]
) -> tuple[int, ...]:
    """Where each wanted column stands in the header."""
    missing = [column for column in columns if column not in header]
    extra = [column for column in header if column not in columns]
    doubled = [column for column in columns if header.count(column) > 1]
    faults = [
        f"{word} {_listed(found)}"
        for word, found in (("lacks", missing), ("has the extra", extra), ("repeats", doubled))
        if found
    ]
    if faults:
        raise InputFileError(
            str(path),
            f"the header {' and '.join(faults)}",
            remedy=f"the columns must be {','.join(columns)}",
            line=line,
        )
    return tuple(header.index(column) for column in columns)


def _listed(columns: list[str]) -> str:
    """The columns by name, but only the first few of a file that is no such table."""
    names = [repr(column) for column in columns[:COLUMNS_SHOWN_MAX]]
    return ", ".join([*names, "..."] if len(columns) > COLUMNS_SHOWN_MAX else names)
