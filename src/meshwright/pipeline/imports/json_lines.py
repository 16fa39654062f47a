"""JSON lines as records: each line one object as RFC 8259 has it, and nothing beside it.

Numbers and words are kept as they are written, so that they are judged as those of CSV. Text is
text: a number where there must be text is refused, and so is half of a surrogate pair.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from meshwright.model.schema import ColumnKind, Table
from meshwright.pipeline.imports.lines import (
    LINES,
    as_spark_has_them,
    in_batches,
    lines_of,
    read_numbered,
)
from meshwright.pipeline.imports.pieces import Run

WORDS = {True: "true", False: "false"}


class Written(str):
    """A number as it is written."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The keys and values of an object; a key may come twice."""


def _refuse_word(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=Members,
    parse_int=Written,
    parse_float=Written,
    parse_constant=_refuse_word,
)


def json_records(session: SparkSession, paths: Sequence[Path], table: Table) -> DataFrame:
    """Records of files with one JSON object a line, whose keys are columns of the table."""
    kinds = {column.name: column.kind for column in table.columns}
    schema = ", ".join([LINES, *(f"`{name}` string" for name in kinds)])

    def made(found: Sequence[Run]) -> Iterator[pa.RecordBatch]:
        return in_batches(_records(as_spark_has_them(lines_of(found)), kinds))

    return read_numbered(session, dict(enumerate(paths)), made, schema)


def _records(lines: pa.RecordBatch, kinds: Mapping[str, ColumnKind]) -> pa.RecordBatch:
    """Lines with a field for each column, or the reason why there is none."""
    fields: dict[str, list[str | None]] = {name: [] for name in kinds}
    reasons: list[str | None] = []
    for text, known in zip(lines["text"].to_pylist(), lines["reason"].to_pylist(), strict=True):
        reason, found = (known, {}) if known is not None else _read(text, kinds)
        reasons.append(reason)
        for name, values in fields.items():
            values.append(found.get(name))
    columns = {name: lines[name] for name in lines.schema.names}
    columns["reason"] = pa.array(reasons, pa.string())
    columns |= {name: pa.array(values, pa.string()) for name, values in fields.items()}
    return pa.RecordBatch.from_pydict(columns)


def _read(text: str, kinds: Mapping[str, ColumnKind]) -> tuple[str | None, dict[str, str | None]]:
    """The fields of a line; or why it has none, and none."""
    try:
        members = _DECODER.decode(text)
    except RecursionError:
        members = None
    except ValueError as error:
        problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return f"this is not a JSON object ({problem})", {}
    if type(members) is not Members:
        return "this is not a JSON object", {}
    found: dict[str, str | None] = {}
    for name, value in members:
        if name not in kinds:
            return f"there is no column {name.encode(errors='replace').decode()}", {}
        if name in found:
            return "a column is given twice", {}
        if (misfit := _misfit(value, kinds[name])) is not None:
            return f"{name} is {misfit}", {}
        found[name] = WORDS[value] if isinstance(value, bool) else value
    return None, found


def _misfit(value: object, kind: ColumnKind) -> str | None:
    """What a value is that must be text, or what no column can have."""
    if isinstance(value, Members):
        return "a JSON object"
    if isinstance(value, list):
        return "a JSON array"
    if kind == "text" and isinstance(value, Written | bool):
        return "not a JSON string"
    if isinstance(value, str) and not value.isascii() and not _is_utf8(value):
        return "not text in UTF-8: an escape such as \\ud800 is half of a character"
    return None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
