"""A generated trace as one act: all its tables, or none."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from pyspark.sql import SparkSession

from meshwright.pipeline.generators.location import location_tables
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.generators.poisson import poisson_tables
from meshwright.pipeline.traces import row_counts, staged_trace, write_table


def generate_trace(
    session: SparkSession, parameters: PoissonParameters | LocationParameters, out: Path
) -> dict[str, int]:
    """Write a trace of the model; rows of every table."""
    match parameters:
        case PoissonParameters():
            tables = poisson_tables(session, parameters)
        case LocationParameters():
            tables = location_tables(session, parameters)
        case _:
            assert_never(parameters)
    with staged_trace(out) as folder:
        for table, frame in tables:
            write_table(frame, folder, table)
        return row_counts(folder)
