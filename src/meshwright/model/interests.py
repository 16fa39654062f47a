"""Who wants which topic: a sparse 0/1 matrix in compressed rows, read-only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from meshwright.errors import CallerError

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Interests:
    """Row r wants the columns columns[offsets[r]:offsets[r + 1]], ascending and distinct.

    Rows are brokers (or clients), columns are topics; `transposed` swaps the two.
    """

    column_count: int
    offsets: Int64Array
    columns: Int32Array

    def __post_init__(self) -> None:
        self.offsets.setflags(write=False)
        self.columns.setflags(write=False)

    @property
    def row_count(self) -> int:
        return len(self.offsets) - 1

    @property
    def pair_count(self) -> int:
        return len(self.columns)

    def of(self, row: int) -> Int32Array:
        """Columns wanted by one row, ascending."""
        return self.columns[self.offsets[row] : self.offsets[row + 1]]

    def counts(self) -> Int64Array:
        """Number of columns wanted by each row: (row,)."""
        return np.diff(self.offsets)

    def row_of_pairs(self) -> Int32Array:
        """Row of every stored pair, aligned with `columns`: (pair,)."""
        return np.repeat(np.arange(self.row_count, dtype=np.int32), self.counts())

    def dense(self) -> BoolArray:
        """The matrix as booleans: (row, column)."""
        matrix = np.zeros((self.row_count, self.column_count), dtype=np.bool_)
        matrix[self.row_of_pairs(), self.columns] = True
        return matrix

    def transposed(self) -> Interests:
        """The same pairs with rows and columns swapped; asked for again, it is there."""
        return _transposed(self)


def interests_from_pairs(
    rows: NDArray[np.integer], columns: NDArray[np.integer], row_count: int, column_count: int
) -> Interests:
    """Interests from parallel index arrays; the pairs may come in any order but only once each."""
    row_ids = np.asarray(rows, dtype=np.int64)
    column_ids = np.asarray(columns, dtype=np.int64)
    order = np.argsort(row_ids * max(column_count, 1) + column_ids, kind="stable")
    row_ids, column_ids = row_ids[order], column_ids[order]
    if bool(np.any((np.diff(row_ids) == 0) & (np.diff(column_ids) == 0))):
        raise CallerError("a (row, column) pair of interests is given twice")
    offsets = np.zeros(row_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(row_ids, minlength=row_count), out=offsets[1:])
    return Interests(column_count, offsets, column_ids.astype(np.int32))


def interests_from_sets(rows: Iterable[Iterable[int]], column_count: int) -> Interests:
    """Interests from one collection of column indexes for each row."""
    sorted_rows = [sorted(set(row)) for row in rows]
    offsets = np.zeros(len(sorted_rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in sorted_rows], out=offsets[1:])
    columns = np.fromiter(
        (c for row in sorted_rows for c in row), dtype=np.int32, count=offsets[-1]
    )
    return Interests(column_count, offsets, columns)


@lru_cache(maxsize=2)
def _transposed(interests: Interests) -> Interests:
    return interests_from_pairs(
        interests.columns, interests.row_of_pairs(), interests.column_count, interests.row_count
    )
