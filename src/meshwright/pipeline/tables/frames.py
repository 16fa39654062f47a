"""Spark's view of the tables that model.schema describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as spark_functions
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from meshwright.model.schema import ColumnKind, Table

SPARK_TYPES: dict[ColumnKind, DataType] = {
    "time": TimestampType(),
    "text": StringType(),
    "whole": LongType(),
    "number": DoubleType(),
    "truth": BooleanType(),
}
ARROW_TYPES: dict[ColumnKind, pa.DataType] = {
    "time": pa.timestamp("us", tz="UTC"),
    "text": pa.string(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "truth": pa.bool_(),
}
SEPARATOR = "\x00"


def spark_schema(table: Table) -> StructType:
    """The table's columns in Spark's types."""
    return StructType(
        [
            StructField(column.name, SPARK_TYPES[column.kind], nullable=not column.is_required)
            for column in table.columns
        ]
    )


def arrow_schema(table: Table) -> pa.Schema:
    """The table's columns in Arrow's types."""
    return pa.schema([(column.name, ARROW_TYPES[column.kind]) for column in table.columns])


def arrow_table(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows of the table as Arrow has them, as an answer of Python that runs on executors."""
    return pa.Table.from_pylist(rows, schema=arrow_schema(table))


def numbered(texts: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct ones of some texts in their order, and the place of each text among them."""
    encoded = pa.chunked_array(texts, pa.string()).combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    places = np.empty(len(order), dtype=np.int64)
    places[order.to_numpy()] = np.arange(len(order))
    distinct = encoded.dictionary.take(order).to_pylist()
    return distinct, places[encoded.indices.to_numpy(zero_copy_only=False)]


def conform(frame: DataFrame, table: Table) -> DataFrame:
    """The table's columns, in its order and types, and no others: the last line of a stage."""
    return frame.select(
        *(
            spark_functions.col(column.name).cast(SPARK_TYPES[column.kind]).alias(column.name)
            for column in table.columns
        )
    )


def one_history(*columns: str | Column) -> WindowSpec:
    """Rows that are equal in some columns, for windows over what happened to them one by one.

    They are sorted by one number first: by texts alone, most rows would be compared in full.
    """
    return Window.partitionBy(spark_functions.xxhash64(*columns), *columns)


def literal_list(values: Iterable[object]) -> Column:
    """An array of texts that is the same in every row.

    One literal of them all: thousands of literals would each be a call to Java.
    """
    joined = spark_functions.lit(SEPARATOR.join(map(str, values)))
    return spark_functions.split(joined, SEPARATOR)


def literal_frame(
    session: SparkSession, table: Table, rows: Iterable[tuple[Any, ...]]
) -> DataFrame:
    """A small table from rows in the order of its columns."""
    return session.createDataFrame(list(rows), spark_schema(table))
