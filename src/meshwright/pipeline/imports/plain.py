"""Plain rows of CSV, told from all others at a glance and read by whole columns.

Most rows are plain: no quotes, each value in the form that programs write, in its range. Of those
nothing is left to judge. A row that is not plain may be good as well: Spark judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.filters.topics import TEXT_BYTES_MAX
from meshwright.model.schema import Column, ColumnKind, Table, TextForm
from meshwright.pipeline.tables.frames import ARROW_TYPES
from meshwright.pipeline.tables.values import range_of

# The 29th of February is not plain: whether it is a day depends on the year.
YEAR = r"(?:19[7-9]\d|2[01]\d\d)"
DAY = (
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31)"
)
CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
PLAIN: dict[ColumnKind, str] = {
    "time": f"{YEAR}-{DAY}[T ]{CLOCK}Z?",
    "whole": r"\d{1,18}",
    "number": r"-?\d{1,15}(?:\.\d{1,15})?",
    "truth": "(?:true|false|0|1)",
}


def _plain_text(others: str = "") -> str:
    """Text without these characters, quotes, commas, control characters and blanks around it."""
    taken = rf'",{others}\x00-'
    return rf"[^{taken}\x20\x7f](?:[^{taken}\x1f\x7f]*[^{taken}\x20\x7f])?"


# Levels that are plain words make most filters with wildcards.
LEVEL = _plain_text("+#/$ ")
PLAIN_TEXT: dict[TextForm, str] = {
    "any": _plain_text(),
    "client": _plain_text(),
    "broker": _plain_text(r"\x{80}-\x{10ffff}"),
    "topic name": _plain_text("+#"),
    "topic filter": rf"(?:{_plain_text('+#$')}|(?:(?:\+|{LEVEL})/)*(?:\+|#|{LEVEL}))",
}
UNUSED = r'[^",\x00-\x1f\x7f]*'


class PlainForm(NamedTuple):
    """The header of a file, and the table that it is of, whose columns it may call otherwise."""

    header: tuple[str, ...]
    table: Table
    names: Mapping[str, str]

    def place(self, column: Column) -> int | None:
        """Where a column of the table stands in a row."""
        name = self.names.get(column.name, column.name)
        return self.header.index(name) if name in self.header else None

    def pattern(self) -> str:
        """Fits plain rows, but for those with a number that is out of its range."""
        fields = [UNUSED] * len(self.header)
        for column in self.table.columns:
            if (place := self.place(column)) is not None:
                is_text = column.kind == "text"
                plain = PLAIN_TEXT[column.form] if is_text else PLAIN[column.kind]
                fields[place] = plain if column.is_required else f"(?:{plain})?"
        return f"^{','.join(fields)}$"


def plain_values(
    texts: pa.Array, reasons: pa.Array, form: PlainForm
) -> tuple[pa.BooleanArray, list[pa.Array]]:
    """Which lines are plain rows, and of these alone the values by column of the table.

    A line that has a reason not to be used is not plain.
    """
    is_fit = pc.and_(pc.match_substring_regex(texts, form.pattern()), pc.is_null(reasons))
    # A longer one may have a topic that is too long.
    is_fit = pc.and_(is_fit, pc.less_equal(pc.binary_length(texts), TEXT_BYTES_MAX))
    rows = pc.split_pattern(texts.filter(is_fit), ",")
    values = [_values(rows, column, form.place(column)) for column in form.table.columns]
    in_range = np.ones(len(rows), bool)
    for column, found in zip(form.table.columns, values, strict=True):
        in_range &= _in_range(found, column)
    if in_range.all():
        return is_fit, values
    is_plain = is_fit.to_numpy(zero_copy_only=False).copy()
    is_plain[is_plain] = in_range
    return pa.array(is_plain), [found.filter(pa.array(in_range)) for found in values]


def _values(rows: pa.Array, column: Column, place: int | None) -> pa.Array:
    kind = ARROW_TYPES[column.kind]
    if place is None:
        return pa.nulls(len(rows), kind)
    fields = pc.list_element(rows, place)
    if not column.is_required:
        fields = pc.if_else(pc.equal(fields, ""), None, fields)
    if column.kind == "time":
        fields = pc.utf8_rtrim(fields, "Z").cast(pa.timestamp("us"))
    elif column.kind == "truth":
        fields = pc.or_(pc.equal(fields, "true"), pc.equal(fields, "1"))
    return fields.cast(kind)


def _in_range(values: pa.Array, column: Column) -> NDArray[np.bool_]:
    """Whether numbers are in their range; the pattern says it of times, and nothing is, too."""
    if column.kind != "number" or (limits := range_of(column)) is None:
        return np.ones(len(values), bool)
    is_fit = pc.and_(pc.greater_equal(values, limits[0]), pc.less_equal(values, limits[1]))
    found: NDArray[np.bool_] = pc.fill_null(is_fit, True).to_numpy(zero_copy_only=False)
    return found
