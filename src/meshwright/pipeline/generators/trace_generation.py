"""A generated trace as one act: all its tables, or none."""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import SparkSession

from meshwright.pipeline.generators.blocks import BlockTable, generated
from meshwright.pipeline.generators.location import location_tables
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.generators.poisson import poisson_tables
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.tables.traces import row_counts, staged_trace, write_table


def generate_trace(
    session: SparkSession, parameters: PoissonParameters | LocationParameters, out: Place
) -> dict[str, int]:
    """Write a trace of the model; rows of every table."""
    tables = model_tables(parameters)
    with staged_trace(out) as folder:
        for blocks in tables:
            write_table(generated(session, blocks), folder, blocks.table)
        return row_counts(folder)


def model_tables(parameters: PoissonParameters | LocationParameters) -> list[BlockTable]:
    """The tables of a trace of the model, not made yet."""
    match parameters:
        case PoissonParameters():
            return poisson_tables(parameters)
        case LocationParameters():
            return location_tables(parameters)
        case _:
            assert_never(parameters)
