"""Publication rates: what was published of a topic in each slot, and what is expected of it.

Equation 12 filters what was observed over whole periods between two reconfigurations, T_free. A
slot is shorter, and a filter over slots forgets a period within the next one [DYNATOPS, III.D.1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import RATES
from meshwright.pipeline.frames import conform, spark_schema
from meshwright.pipeline.timeline import Timeline

TOPIC_BUCKETS = 64


def publication_rates(
    publications: DataFrame,
    timeline: Timeline,
    *,
    alpha: float,
    period_ends: Sequence[int] | None = None,
) -> DataFrame:
    """RATES of every topic in every slot: R' = (1 - alpha) R' + alpha R, begun with the first R.

    period_ends: the first slot after each period, ascending; without, periods are the epochs.
    """
    ends = timeline.epoch_ends() if period_ends is None else period_ends
    counted = (
        publications.select(timeline.slot_of(sf.col("time")).alias("slot"), "topic")
        .where(sf.col("slot").between(0, timeline.slot_count - 1))
        .groupBy("slot", "topic")
        .agg(sf.count("*").alias("publications"))
        .withColumn("bucket", topic_bucket(TOPIC_BUCKETS))
    )
    smoothed = counted.groupBy("bucket").applyInArrow(
        _smoother(timeline.slot_count, alpha, ends), spark_schema(RATES)
    )
    return conform(smoothed, RATES)


def even_rates(topics: DataFrame, timeline: Timeline, publications_per_slot: int) -> DataFrame:
    """RATES where nobody recorded publications: as many of every topic in every slot."""
    slots = sf.explode(sf.sequence(sf.lit(0), sf.lit(timeline.slot_count - 1)))
    even = (
        topics.select("topic")
        .distinct()
        .select(
            slots.alias("slot"),
            "topic",
            sf.lit(publications_per_slot).alias("publications"),
            sf.lit(publications_per_slot).alias("rate"),
        )
    )
    return conform(even, RATES)


def topic_bucket(bucket_count: int) -> Column:
    """A number from 0 for each topic, the same wherever it is worked out."""
    return sf.pmod(sf.xxhash64("topic"), sf.lit(bucket_count))


def filtered(
    counts: NDArray[np.integer] | NDArray[np.float64], alpha: float, period_ends: Sequence[int]
) -> NDArray[np.float64]:
    """What is expected of a slot after each slot, (..., slot), by an exponential filter [eq. 12].

    counts: (..., slot). It takes in the mean of a period when that ends, begun with the first one;
    until then a slot is expected to be like those so far.
    """
    slots = np.arange(1, counts.shape[-1] + 1)
    rates = np.cumsum(counts, axis=-1) / slots
    begin, estimate = 0, None
    for end in period_ends:
        observed = counts[..., begin:end].mean(axis=-1)
        estimate = observed if estimate is None else (1.0 - alpha) * estimate + alpha * observed
        rates[..., end - 1 :] = estimate[..., None]
        begin = end
    return rates


def _smoother(
    slot_count: int, alpha: float, period_ends: Sequence[int]
) -> Callable[[pa.Table], pa.Table]:
    def smooth(counted: pa.Table) -> pa.Table:
        topics = counted["topic"].combine_chunks().dictionary_encode()
        rows = topics.indices.to_numpy(zero_copy_only=False)
        counts = np.zeros((len(topics.dictionary), slot_count), dtype=np.float64)
        counts[rows, counted["slot"].to_numpy()] = counted["publications"].to_numpy()
        indexes = np.repeat(np.arange(len(counts), dtype=np.int64), slot_count)
        return pa.table(
            {
                "slot": np.tile(np.arange(slot_count, dtype=np.int64), len(counts)),
                "topic": topics.dictionary.take(pa.array(indexes)),
                "publications": counts.ravel().astype(np.int64),
                "rate": filtered(counts, alpha, period_ends).ravel(),
            }
        )

    return smooth
