"""Rows that are equal to an earlier one in every column: the first is kept, the others are told.

Rows have a likeness first, a number that equal rows share: only those whose number others have,
too, are compared in full. Of most tables these are few, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from meshwright.model.schema import Table
from meshwright.pipeline.imports.judging import Judged

LIKENESS = "likeness"
REPEATS = "it repeats line "
# Numbers that fit into every executor without any trouble.
BROADCAST_ROWS_MAX = 100_000


def without_repetitions(rows: DataFrame, table: Table) -> Judged:
    """Judged rows, of which those that are equal to an earlier one are refused."""
    kept = rows.withColumn(LIKENESS, sf.xxhash64(*table.column_names())).persist()
    counts = kept.filter("reason is null").groupBy(LIKENESS).agg(sf.count(sf.lit(1)).alias("count"))
    alike = counts.filter("count > 1").select(LIKENESS).persist()
    alike_count = alike.count()
    if not alike_count:
        return Judged(kept, (alike, kept))
    suspects, others = parted(kept, alike, is_little=alike_count <= BROADCAST_ROWS_MAX)
    told = told_repetitions(suspects, table).unionByName(others).persist()
    return Judged(told, (told, alike, kept))


def parted(rows: DataFrame, alike: DataFrame, *, is_little: bool) -> tuple[DataFrame, DataFrame]:
    """Rows without a reason whose likeness several rows have, and all others.

    alike: each such likeness; is_little: they fit into every executor.
    """
    known = alike.withColumn("is_alike", sf.lit(True))
    marked = rows.join(sf.broadcast(known) if is_little else known, LIKENESS, how="left")
    is_suspect = sf.col("reason").isNull() & sf.col("is_alike").isNotNull()
    names = rows.columns
    return marked.filter(is_suspect).select(*names), marked.filter(~is_suspect).select(*names)


def told_repetitions(suspects: DataFrame, table: Table) -> DataFrame:
    """Rows whose likeness others have, with a reason where they repeat one of those."""
    together = suspects.repartition(LIKENESS).sortWithinPartitions(LIKENESS, "file_number", "line")
    columns = table.column_names()

    def compared(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _compared(batches, columns)

    return together.mapInArrow(compared, suspects.schema)


def reasons_of_repetitions(suspects: pa.Table, columns: Sequence[str]) -> list[str | None]:
    """Why each row is refused that repeats an earlier one; rows stand by likeness, then by place.

    Rows of one likeness are as good as always equal, which is seen at once of whole columns.
    """
    own = suspects[LIKENESS].to_numpy()
    places = np.arange(len(own))
    is_first = np.ones(len(own), bool)
    is_first[1:] = own[1:] != own[:-1]
    firsts = np.maximum.accumulate(np.where(is_first, places, 0))
    if not all(_is_equal(suspects[name], suspects[name].take(firsts)) for name in columns):
        suspects = suspects.append_column("reason", pa.nulls(len(own), pa.string()))
        batches = _compared(suspects.combine_chunks().to_batches(), columns)
        return [reason for batch in batches for reason in batch["reason"].to_pylist()]
    origins = list(zip(*(suspects[name].to_pylist() for name in ("file", "line")), strict=True))
    return [
        None if first == place else _repeats(origins[first], origins[place])
        for place, first in enumerate(firsts.tolist())
    ]


def _is_equal(values: pa.ChunkedArray, others: pa.ChunkedArray) -> bool:
    """Whether all values are those of the other column; no value equals no value."""
    is_equal = pc.fill_null(pc.equal(values, others), False)
    found = pc.or_(is_equal, pc.and_(pc.is_null(values), pc.is_null(others)))
    return bool(pc.all(found).as_py())


def _compared(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows that come by their likeness, and of one likeness as they stand in the files."""
    likeness: int | None = None
    firsts: dict[tuple[Any, ...], tuple[str, int]] = {}
    for batch in batches:
        reasons = []
        keys = zip(*(_comparable(batch[name]) for name in columns), strict=True)
        origins = zip(*(batch[name].to_pylist() for name in ("file", "line")), strict=True)
        for own, key, origin in zip(batch[LIKENESS].to_pylist(), keys, origins, strict=True):
            if own != likeness:
                likeness, firsts = own, {}
            first = firsts.setdefault(key, origin)
            reasons.append(None if first is origin else _repeats(first, origin))
        place = batch.schema.get_field_index("reason")
        yield batch.set_column(place, "reason", pa.array(reasons, pa.string()))


def _comparable(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    return list(column.to_pylist())


def _repeats(first: tuple[str, int], origin: tuple[str, int]) -> str:
    where = "" if first[0] == origin[0] else f" of {first[0]}"
    return f"{REPEATS}{first[1]}{where}"
