"""Homes of clients: the broker of the cell they are in, or the one that a newcomer asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.errors import ProblemError
from meshwright.model.replay_schema import HOMES
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.frames import conform
from meshwright.planning.placement.clusters import nearest_brokers


def asked_homes(interests: DataFrame, brokers: Brokers, seed: int) -> DataFrame:
    """HOMES by chance: a broker for each client, drawn by the seed and the client's name."""
    drawn = sf.pmod(sf.xxhash64("client", sf.lit(seed)), sf.lit(brokers.count))
    first = interests.groupBy("client").agg(sf.min("time").alias("time"))
    return conform(first.withColumn("broker", brokers.name_of(drawn)), HOMES)


def located_homes(visits: DataFrame, brokers: Brokers, cell_degrees: float) -> DataFrame:
    """HOMES by place: the broker nearest to the middle of a client's cell, whenever it changes."""
    if brokers.coordinates is None:
        raise ProblemError(
            "Placement by location needs the coordinates of every broker; "
            "give latitude and longitude in the table brokers."
        )
    nearest = (
        visits.select("cell_north", "cell_east")
        .distinct()
        .mapInArrow(
            _nearest(brokers.coordinates, cell_degrees),
            "cell_north long, cell_east long, number long",
        )
        .withColumn("broker", brokers.name_of(sf.col("number")))
    )
    journey = Window.partitionBy("client").orderBy("time")
    former = sf.lag("broker").over(journey)
    entered = (
        visits.where("stay_s is null or stay_s > 0")
        .join(sf.broadcast(nearest), on=["cell_north", "cell_east"], how="inner")
        .withColumn("former", former)
        .where("former is null or former != broker")
    )
    return conform(entered, HOMES)


def with_strangers(located: DataFrame, asked: DataFrame) -> DataFrame:
    """HOMES by place, and by chance for clients that want something before they are seen."""
    seen = located.groupBy("client").agg(sf.min("time").alias("seen"))
    strangers = asked.join(seen, on="client", how="left").where("seen is null or time < seen")
    return located.unionByName(conform(strangers, HOMES))


def _nearest(
    coordinates: Float64Array, cell_degrees: float
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def nearest(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            corners = np.column_stack((batch["cell_north"], batch["cell_east"]))
            middles = (corners + 0.5) * cell_degrees
            numbers = nearest_brokers(middles, coordinates).astype(np.int64)
            yield batch.append_column("number", pa.array(numbers))

    return nearest
