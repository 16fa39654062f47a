"""One number for the values of a row: equal rows have equal numbers, others hardly ever.

Who finds two rows with one number compares them in full, so the numbers need not be perfect.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# The constants of splitmix64 [Steele et al., OOPSLA 2014].
STEP, FIRST, SECOND = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def likenesses(columns: Sequence[pa.Array]) -> NDArray[np.int64]:
    """The number of each row of some columns of one length."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        found = _mixed(found * STEP + _numbers(column))
    return found.view(np.int64)


def _numbers(column: pa.Array) -> NDArray[np.uint64]:
    """The values of a column as numbers; no value is one, too."""
    found = _text_numbers(column) if pa.types.is_string(column.type) else _plain_numbers(column)
    if not column.null_count:
        return found
    return np.where(column.is_null().to_numpy(zero_copy_only=False), STEP, found)


def _plain_numbers(column: pa.Array) -> NDArray[np.uint64]:
    if pa.types.is_floating(column.type):
        numbers: NDArray[np.float64] = column.fill_null(0.0).to_numpy()
        return (numbers + 0.0).view(np.uint64)  # there are two zeros, and they are equal
    whole = column.cast(pa.int64()) if pa.types.is_boolean(column.type) else column.view(pa.int64())
    found: NDArray[np.int64] = whole.fill_null(0).to_numpy()
    return found.view(np.uint64)


def _text_numbers(column: pa.Array) -> NDArray[np.uint64]:
    """Sums of the bytes, each weighed by its place."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    first, sizes = int(ends[0]), np.diff(ends)
    values = np.frombuffer(data, np.uint8)[first : int(ends[-1])] if data else np.empty(0, np.uint8)
    places = np.arange(len(values)) - np.repeat(ends[:-1] - first, sizes)
    weights = _mixed(np.arange(1, int(sizes.max(initial=0)) + 1, dtype=np.uint64))
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum((values.astype(np.uint64) + np.uint64(1)) * weights[places], out=sums[1:])
    return sums[ends[1:] - first] - sums[ends[:-1] - first]


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each bit of a number in all bits of its answer."""
    found = (numbers ^ (numbers >> np.uint64(30))) * FIRST
    found = (found ^ (found >> np.uint64(27))) * SECOND
    mixed: NDArray[np.uint64] = found ^ (found >> np.uint64(31))
    return mixed
