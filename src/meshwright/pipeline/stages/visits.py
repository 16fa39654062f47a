"""Check-ins to cells to visits: where clients are, how long they linger [DYNATOPS, Fig. 5]."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.schema import CELLS, VISITS
from meshwright.pipeline.tables.frames import conform

MICROSECONDS = 1_000_000
DAY_S = 86_400


def cells(positions: DataFrame, cell_degrees: float) -> DataFrame:
    """Check-ins with the cell they fall in: (floor(lat / size), floor(lon / size))."""
    size = sf.lit(float(cell_degrees))
    return conform(
        positions.withColumns(
            {
                "cell_north": sf.floor(sf.col("latitude") / size),
                "cell_east": sf.floor(sf.col("longitude") / size),
            }
        ),
        CELLS,
    )


def visits(cells: DataFrame) -> DataFrame:
    """Maximal runs of a client's check-ins in one cell, by time and then by venue as text.

    A stay lasts from a visit's first check-in to the next visit's first; a last visit has none.
    """
    ordered = Window.partitionBy("client").orderBy(
        "time", "venue", "latitude", "longitude", "cell_north", "cell_east"
    )
    everything = Window.partitionBy("client")
    former_north, former_east = (sf.lag(name).over(ordered) for name in ("cell_north", "cell_east"))
    numbered = cells.withColumns(
        {
            "number": sf.row_number().over(ordered),
            "row_count": sf.count(sf.lit(1)).over(everything),
            "begins": former_north.isNull()
            | (former_north != sf.col("cell_north"))
            | (former_east != sf.col("cell_east")),
        }
    ).filter("begins")
    by_number = Window.partitionBy("client").orderBy("number")
    next_number = sf.coalesce(sf.lead("number").over(by_number), sf.col("row_count") + 1)
    stay_us = sf.unix_micros(sf.lead("time").over(by_number)) - sf.unix_micros("time")
    return conform(
        numbered.withColumns(
            {"checkin_count": next_number - sf.col("number"), "stay_s": stay_us / MICROSECONDS}
        ),
        VISITS,
    )


def user_cells(visits: DataFrame) -> DataFrame:
    """One row a client and cell: its visits, and how its stays there were long or short."""
    stay = sf.col("stay_s")
    return visits.groupBy("client", "cell_north", "cell_east").agg(
        sf.count(sf.lit(1)).alias("visit_count"),
        sf.sum("checkin_count").alias("checkin_count"),
        sf.count(stay).alias("stay_count"),
        sf.count_if(stay < DAY_S).alias("stay_under_day_count"),
        sf.count_if(stay > 7 * DAY_S).alias("stay_over_week_count"),
    )
