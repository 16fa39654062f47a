"""Tables made on executors block by block; a block has a chance of its own.

A block is a fixed number of users, topics or brokers, and its rows follow from the seed and its
number alone: neither partitions nor the number of users change what is drawn for a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from meshwright.model.interests import Int64Array
from meshwright.model.schema import Table
from meshwright.model.times import SECOND_US
from meshwright.pipeline.tables.frames import ARROW_TYPES, spark_schema

USERS_PER_BLOCK = 1024
TOPICS_PER_BLOCK = 16
HOUR_US = 3600 * SECOND_US

Columns: TypeAlias = "dict[str, Any]"


class Concern(IntEnum):
    """What is drawn; each concern has its own stream."""

    SUBSCRIPTIONS = 1
    CONNECTIONS = 2
    PUBLICATIONS = 3
    POPULATION = 4
    WANDERING = 5
    CHECKINS = 6
    FRIENDS = 7
    DELAYS = 8


def stream(seed: int, concern: Concern, block: int) -> np.random.Generator:
    """The chance of one block."""
    return np.random.default_rng([seed, int(concern), block])


class BlockTable(NamedTuple):
    """A table in blocks; block gives the columns of one by its number."""

    table: Table
    block_count: int
    block: Callable[[int], Columns]

    def batch(self, number: int) -> pa.RecordBatch:
        """One block."""
        columns = self.block(number)
        types = {column.name: ARROW_TYPES[column.kind] for column in self.table.columns}
        return pa.RecordBatch.from_arrays(
            [_array(columns[name], kind) for name, kind in types.items()], list(types)
        )


def generated(session: SparkSession, blocks: BlockTable) -> DataFrame:
    """The table of all blocks, made by executors."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from map(blocks.batch, batch.column(0).to_pylist())

    return session.range(blocks.block_count).mapInArrow(make, spark_schema(blocks.table))


def gathered(blocks: BlockTable) -> pa.Table:
    """The table of all blocks, made here."""
    return pa.Table.from_batches(map(blocks.batch, range(blocks.block_count)))


def block_count(count: int, per_block: int) -> int:
    """Blocks that so many users or topics fill; the last may be filled in part."""
    return math.ceil(count / per_block)


def names(prefix: str, numbers: Int64Array, count: int) -> pa.Array:
    """Numbers as names of equal length: u0042 of ten thousand users."""
    width = len(str(max(count - 1, 0)))
    digits = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width, "0")
    return pc.binary_join_element_wise(prefix, digits, "")


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, type=kind)
