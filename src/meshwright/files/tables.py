"""Tables with a header, read strictly, row by row: CSV as in RFC 4180, or what is in memory."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshwright.errors import InputFileError
from meshwright.files.reading import name_fault, read_text

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COLUMNS_SHOWN_MAX = 3
WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class GivenTable:
    """A table in memory: what it is called, its columns, and its rows as text.

    labels: what its owner calls the rows, beside their numbers from 0 on.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    labels: Sequence[object]

    def __str__(self) -> str:
        return self.name


Source = Path | GivenTable


@dataclass(frozen=True, slots=True)
class TableRow:
    """Fields of one row in the order that was asked for, and the line where it begins."""

    source: Source
    line: int
    fields: tuple[str, ...]

    def fault(self, problem: str, remedy: str) -> InputFileError:
        """The error that points at this row."""
        return table_fault(self.source, problem, remedy, self.line)

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


def table_fault(
    source: Source, problem: str, remedy: str, line: int | None = None
) -> InputFileError:
    """The error that points at a file and its line, or at a table in memory and its row."""
    if isinstance(source, Path) or line is None:
        return InputFileError(str(source), problem, remedy=remedy, line=line)
    label = source.labels[line]
    labelled = "" if label == line else f" (index {label!r})"
    where = f"{source}, {told_line(source, line)}{labelled}"
    return InputFileError(where, problem, remedy=remedy)


def told_line(source: Source, line: int) -> str:
    """Where a row is: files have lines from 1 on, tables in memory rows from 0 on."""
    return f"{'line' if isinstance(source, Path) else 'row'} {line}"


def read_table(
    source: Source, columns: tuple[str, ...], *, optional: str | None = None
) -> Iterator[TableRow]:
    """Rows of a table with exactly these columns, in any order; blank lines are skipped.

    optional: a column that may be there, whose field comes last, or is empty where it is not.
    """
    wanted = ",".join(columns)
    header_line, header, records = _opened(source, wanted)
    if optional in header:
        columns = (*columns, str(optional))
        optional = None
    order = _column_order(source, header_line, header, columns)
    absent = () if optional is None else ("",)
    row_count = 0
    for line, record in records:
        if len(record) != len(columns):
            raise table_fault(
                source,
                f"the row has {len(record)} fields instead of {len(columns)}",
                f"give {wanted}, and quote a field that contains a comma",
                line,
            )
        row_count += 1
        yield TableRow(source, line, (*(record[position] for position in order), *absent))
    if not row_count:
        raise table_fault(
            source,
            "there are no rows below the header",
            f"add at least one row of {wanted}",
            header_line,
        )


def table_bytes(columns: tuple[str, ...], rows: Iterable[Iterable[str]]) -> bytes:
    """A CSV file with a header, in UTF-8, lines ending in a line feed."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def _opened(
    source: Source, wanted: str
) -> tuple[int | None, Sequence[str], Iterator[tuple[int, Sequence[str]]]]:
    """The line of the header if it has one, the header, and the rows below it."""
    if isinstance(source, GivenTable):
        return None, source.columns, enumerate(source.rows)
    records = _records(source)
    line, header = next(records, (1, []))
    if not header:
        raise table_fault(source, "the file is empty", f"begin it with the header {wanted}", 1)
    return line, header, records


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
    source: Source, line: int | None, header: Sequence[str], columns: tuple[str, ...]
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
        raise table_fault(
            source,
            f"the header {' and '.join(faults)}",
            f"the columns must be {','.join(columns)}",
            line,
        )
    return tuple(header.index(column) for column in columns)


def _listed(columns: list[str]) -> str:
    """The columns by name, but only the first few of a file that is no such table."""
    names = [repr(column) for column in columns[:COLUMNS_SHOWN_MAX]]
    return ", ".join([*names, "..."] if len(columns) > COLUMNS_SHOWN_MAX else names)
