"""The brokers of a trace as planning sees them: few enough to be known everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.tables.frames import literal_list
from meshwright.planning.placement.clusters import (
    delay_clusters,
    geographic_clusters,
    random_clusters,
    site_clusters,
)


@dataclass(frozen=True, slots=True, eq=False)
class Brokers:
    """Brokers in the order of their names, which numbers them.

    coordinates: latitude and longitude in degrees, (broker, 2), or None where any is unknown.
    delays_ms: one way, (broker, broker), or None. sites: where each stands in words, or None where
    that of any is unknown.
    """

    names: tuple[BrokerName, ...]
    coordinates: Float64Array | None = None
    delays_ms: Float64Array | None = None
    sites: tuple[str, ...] | None = None

    @property
    def count(self) -> int:
        return len(self.names)

    def ordered(self, names: Sequence[str]) -> Brokers:
        """Brokers of these names in their order; nothing is known of them if one is a stranger."""
        chosen = tuple(BrokerName(name) for name in names)
        if not set(chosen) <= set(self.names):
            return Brokers(chosen)
        numbers = [self.names.index(name) for name in chosen]
        places, delays = self.coordinates, self.delays_ms
        return Brokers(
            chosen,
            None if places is None else places[numbers],
            None if delays is None else delays[np.ix_(numbers, numbers)],
            None if self.sites is None else tuple(self.sites[number] for number in numbers),
        )

    def name_of(self, number: Column) -> Column:
        """The name of a broker's number, from 0."""
        return sf.element_at(literal_list(self.names), number.cast("int") + 1)

    def numbered(
        self, frame: DataFrame, number: str = "number", *, how: str = "inner"
    ) -> DataFrame:
        """The rows of brokers that are among these, with the number of each, from 0.

        how: with "left", rows of no or other brokers too, without a number.
        """
        rows = [(name, place) for place, name in enumerate(self.names)]
        numbers = frame.sparkSession.createDataFrame(rows, f"broker string, {number} int")
        return frame.join(sf.broadcast(numbers), on="broker", how=how)

    def clusters(self, cluster_size: int, seed: int) -> Int32Array:
        """Those of one site, or near on the map or by delay, as far as that is known: (broker,).

        Else random blocks, as also where all are equally far.
        """
        if self.sites is not None:
            return site_clusters(self.sites, cluster_size)
        if self.coordinates is not None:
            return geographic_clusters(self.coordinates, cluster_size)
        if self.delays_ms is not None and not _are_equally_far(self.delays_ms):
            return delay_clusters(self.delays_ms, cluster_size)
        return random_clusters(self.count, cluster_size, np.random.default_rng(seed))


def _are_equally_far(delays_ms: Float64Array) -> bool:
    ways = delays_ms[~np.eye(len(delays_ms), dtype=np.bool_)]
    return len(ways) == 0 or float(ways.min()) == float(ways.max())
