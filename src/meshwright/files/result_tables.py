"""Tables of results: Parquet, or CSV for people and spreadsheets, by the name's ending."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from meshwright.errors import OperatorError
from meshwright.files.tables import table_bytes
from meshwright.files.writing import refuse_unwritable, write_whole


def table_writer(path: Path) -> Callable[[pa.Table], None]:
    """What writes a table to the path, whole or not at all; refuses at once what cannot be."""
    encodings = {".parquet": _parquet_bytes, ".csv": _csv_bytes}
    encode = encodings.get(path.suffix)
    if encode is None:
        raise OperatorError(f"{path}: a table's name ends in .parquet or .csv; rename it.")
    refuse_unwritable(path)
    return partial(_write, path, encode)


def _write(path: Path, encode: Callable[[pa.Table], bytes], table: pa.Table) -> None:
    write_whole({path: encode(table)})


def _parquet_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    arrow_parquet.write_table(table, sink)
    return bytes(sink.getvalue())


def _csv_bytes(table: pa.Table) -> bytes:
    columns = [column.to_pylist() for column in table.columns]
    texts = ([_text(value) for value in row] for row in zip(*columns, strict=True))
    return table_bytes(tuple(table.column_names), texts)


def _text(value: Any) -> str:
    """Texts as they are, nothing for null, and all else as in JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")
