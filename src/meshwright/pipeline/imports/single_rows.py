"""Single lines of CSV judged in Python: rows that are not plain, where there is no Spark to ask.

Each is told what Spark would tell of it, by the patterns and the sentences that Spark is given. A
line on which the two might differ, such as one with a control character, is not judged here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import NamedTuple, TypeAlias

from meshwright.filters.filter import WHERE_PREFIX
from meshwright.filters.topics import TEXT_BYTES_MAX
from meshwright.model.schema import Column, ColumnKind
from meshwright.model.times import SECOND_US
from meshwright.pipeline.imports.judging import FORMS, Faults, faults_of
from meshwright.pipeline.imports.plain import PlainForm
from meshwright.pipeline.imports.records import CARRIAGE_RETURN, OPEN_QUOTE, field_count_fault
from meshwright.pipeline.tables.values import UNFIT_TEXT, USER, WHOLE_MAX, range_of

Value: TypeAlias = int | float | bool | str | None
# The values of a good row, or why it is refused.
Verdict: TypeAlias = tuple[Value, ...] | str

# Characters that CSV, patterns or casts of Spark take for blanks or ends of lines, now and then.
DOUBTFUL = re.compile("[\x00-\x1f\x7f-\x9f]")
IN_QUOTES, BARE = '[^"]*(?:""[^"]*)*', '[^",]*'
QUOTED = re.compile(f'(?:"{IN_QUOTES}"|{BARE})(?:,(?:"{IN_QUOTES}"|{BARE}))*')
FIELD = re.compile(f'(?:^|,)(?:"({IN_QUOTES})"|({BARE}))')
WHOLE_DIGITS_MAX = 19
TIME = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})"
    r"(?::(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):?(\d{2}))?)?",
    re.ASCII,
)
YEARS_OF_A_CYCLE, DAYS_OF_A_CYCLE = 400, 146_097
DAY_S, HOUR_S, MINUTE_S = 86_400, 3600, 60
EPOCH_DAY = date(1970, 1, 1).toordinal()
ZONE_MAX_S = 18 * HOUR_S


class _Field(NamedTuple):
    """A column of the table, where it stands in a line, and how its values are judged."""

    column: Column
    place: int | None
    faults: Faults
    value: Callable[[str], Value]
    is_unfit: Callable[[Value], bool]


class RowJudge:
    """Judges lines of files of one form."""

    def __init__(self, form: PlainForm) -> None:
        self._field_count = len(form.header)
        self._fields = [
            _Field(
                column,
                form.place(column),
                faults_of(column, form.names.get(column.name, column.name)),
                VALUES[column.kind],
                _unfitness(column),
            )
            for column in form.table.columns
        ]

    def verdict(self, line: str) -> Verdict | None:
        """None: Spark may see more in this line, and must be asked."""
        if "\r" in line:
            return CARRIAGE_RETURN
        if line.count('"') % 2:
            return OPEN_QUOTE
        if DOUBTFUL.search(line) is not None:
            return None
        if '"' in line:
            if QUOTED.fullmatch(line) is None:
                return None
            found = FIELD.findall(line)
            fields = [quoted.replace('""', '"') or plain for quoted, plain in found]
        else:
            fields = line.split(",")
        if len(fields) != self._field_count:
            return field_count_fault(self._field_count)
        return self._judged(fields)

    def _judged(self, fields: list[str]) -> Verdict:
        values: list[Value] = []
        for column, place, faults, valued, is_unfit in self._fields:
            text = "" if place is None else fields[place]
            if column.kind != "text":
                text = text.strip(" ")
            if not text:
                if column.is_required:
                    return faults.missing
                values.append(None)
                continue
            value = valued(text)
            if value is None:
                return faults.unreadable
            if is_unfit(value):
                return faults.unfit
            values.append(value)
        return tuple(values)


def _time_us(text: str) -> int | None:
    """Microseconds since 1970; what is finer is cut off, as Spark does."""
    found = TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    sign, *zone = found.groups()[7:]
    zone_s = 0 if sign is None else HOUR_S * int(zone[0]) + MINUTE_S * int(zone[1])
    is_clock = hour < 24 and minute < 60 and second < 60
    is_zone = sign is None or (int(zone[1]) < 60 and zone_s <= ZONE_MAX_S)
    if not is_clock or not is_zone:
        return None
    try:  # Python's years begin with 1
        days = date(year + YEARS_OF_A_CYCLE if year < 1 else year, month, day).toordinal()
    except ValueError:
        return None
    days -= EPOCH_DAY + (DAYS_OF_A_CYCLE if year < 1 else 0)
    since_s = days * DAY_S + hour * HOUR_S + minute * MINUTE_S + second
    since_s += zone_s if sign == "-" else -zone_s
    return since_s * SECOND_US + int((found[7] or "").ljust(6, "0")[:6])


def _of_form(kind: ColumnKind) -> re.Pattern[str]:
    """The pattern that Spark is given, for Python."""
    pattern = FORMS[kind].replace("(?i)", "").replace(r"\z", r"\Z")
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


_WHOLE, _NUMBER, _TRUTH = _of_form("whole"), _of_form("number"), _of_form("truth")


def _whole(text: str) -> int | None:
    digits = text.lstrip("0") or "0"
    if _WHOLE.search(text) is None or len(digits) > WHOLE_DIGITS_MAX:
        return None
    return found if (found := int(digits)) <= WHOLE_MAX else None


def _number(text: str) -> float | None:
    return None if _NUMBER.search(text) is None else float(text)


def _truth(text: str) -> bool | None:
    return None if _TRUTH.search(text) is None else text.lower() in {"true", "1"}


VALUES: dict[ColumnKind, Callable[[str], Value]] = {
    "time": _time_us,
    "text": str,
    "whole": _whole,
    "number": _number,
    "truth": _truth,
}


def _unfitness(column: Column) -> Callable[[Value], bool]:
    """Whether a value is none that the column may have."""
    if column.kind == "text":
        return _text_unfitness(column)
    limits = range_of(column)
    if limits is None:
        return lambda _: False
    least, greatest = limits
    return lambda value: not (isinstance(value, int | float) and least <= value <= greatest)


def _text_unfitness(column: Column) -> Callable[[Value], bool]:
    pattern = UNFIT_TEXT.get(column.form)
    unfit = None if pattern is None else re.compile(pattern.replace(r"\z", r"\Z"))
    user = re.compile(USER.replace(r"\z", r"\Z"))

    def is_unfit(value: Value) -> bool:
        text = str(value)
        if unfit is not None and unfit.search(text) is not None:
            return True
        if column.form in {"topic name", "topic filter"}:
            return len(text.encode()) > TEXT_BYTES_MAX and WHERE_PREFIX not in text
        return column.form == "client" and len(user.sub("", text).encode()) > TEXT_BYTES_MAX

    return is_unfit
