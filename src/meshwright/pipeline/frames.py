"""Spark's view of the tables that model.schema describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
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


def spark_schema(table: Table) -> StructType:
    """The table's columns in Spark's types."""
    return StructType(
        [
            StructField(column.name, SPARK_TYPES[column.kind], nullable=not column.is_required)
            for column in table.columns
        ]
    )


def conform(frame: DataFrame, table: Table) -> DataFrame:
    """The table's columns, in its order and types, and no others: the last line of a stage."""
    return frame.select(
        *(
            spark_functions.col(column.name).cast(SPARK_TYPES[column.kind]).alias(column.name)
            for column in table.columns
        )
    )


def literal_frame(
    session: SparkSession, table: Table, rows: Iterable[tuple[Any, ...]]
) -> DataFrame:
    """A small table from rows in the order of its columns."""
    return session.createDataFrame(list(rows), spark_schema(table))
