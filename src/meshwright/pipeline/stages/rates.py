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
from meshwright.pipeline.tables.frames import conform, spark_schema
from meshwright.pipeline.tables.timeline import Timeline

TOPIC_BUCKETS = 64


def publication_rates(
    publications: DataFrame,
    timeline: Timeline,
    *,
    alpha: float,
    period_ends: Sequence[int] | None = None,
) -> DataFrame:
    """RATES: R' = (1 - alpha) R' + alpha R, begun with the first R.

    A topic has a row where it is published, and where a period ends after it first was.
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
        _smoother(alpha, np.array(ends, dtype=np.int64)), spark_schema(RATES)
    )
    return conform(smoothed, RATES)


def even_rates(topics: DataFrame, timeline: Timeline, publications_per_slot: int) -> DataFrame:
    """RATES where nobody recorded publications: as many of every topic in every slot."""
    epochs = sf.explode(sf.sequence(sf.lit(0), sf.lit(timeline.epoch_count - 1)))
    first = sf.col("epoch") * timeline.epoch_slots
    even = (
        topics.select("topic")
        .distinct()
        .select("topic", epochs.alias("epoch"))
        .select(
            first.alias("slot_first"),
            sf.least(first + timeline.epoch_slots, sf.lit(timeline.slot_count)).alias("slot_end"),
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


def sparsely_filtered(
    topics: NDArray[np.int64],
    slots: NDArray[np.int64],
    counts: NDArray[np.int64],
    alpha: float,
    period_ends: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The same of counts that are not 0, by topic and slot: topics, slots, counts and rates.

    There are rows for the given slots, and for the last slot of every period since a topic first
    was published. Costs as much as there are rows, however many slots there are.
    """
    order = np.lexsort((slots, topics))
    topics, slots, counts = topics[order], slots[order], counts[order]
    topic_count, period_count = int(topics.max(initial=-1)) + 1, len(period_ends)
    periods = np.searchsorted(period_ends, slots, side="right")
    sums = np.zeros((topic_count, period_count + 1), dtype=np.int64)
    np.add.at(sums, (topics, periods), counts)
    estimates = _estimates(sums[:, :-1], np.diff(period_ends, prepend=0), alpha)
    is_last = np.isin(slots + 1, period_ends)
    at_ends = np.zeros((topic_count, period_count), dtype=np.int64)
    at_ends[topics[is_last], periods[is_last]] = counts[is_last]
    known, ended = np.nonzero(np.cumsum(sums[:, :-1], axis=1))
    totals = np.cumsum(counts)
    before = np.concatenate(([0], totals))[np.searchsorted(topics, topics)]
    so_far = (totals - before) / (slots + 1)
    former = estimates[topics, periods - 1] if period_count else so_far
    rates = np.where(periods > 0, former, so_far)
    return (
        np.concatenate((topics[~is_last], known)),
        np.concatenate((slots[~is_last], period_ends[ended] - 1)),
        np.concatenate((counts[~is_last], at_ends[known, ended])),
        np.concatenate((rates[~is_last], estimates[known, ended])),
    )


def _estimates(
    sums: NDArray[np.int64], lengths: NDArray[np.int64], alpha: float
) -> NDArray[np.float64]:
    """What is expected of a slot after each period, by its sum: (topic, period)."""
    estimates = sums / lengths
    for period in range(1, estimates.shape[1]):
        former = (1.0 - alpha) * estimates[:, period - 1]
        estimates[:, period] = former + alpha * estimates[:, period]
    return estimates


def _smoother(alpha: float, period_ends: NDArray[np.int64]) -> Callable[[pa.Table], pa.Table]:
    def smooth(counted: pa.Table) -> pa.Table:
        names = counted["topic"].combine_chunks().dictionary_encode()
        topics, slots, counts, rates = sparsely_filtered(
            names.indices.to_numpy(zero_copy_only=False).astype(np.int64),
            counted["slot"].to_numpy(),
            counted["publications"].to_numpy(),
            alpha,
            period_ends,
        )
        return pa.table(
            {
                "slot_first": slots,
                "slot_end": slots + 1,
                "topic": names.dictionary.take(pa.array(topics)),
                "publications": counts,
                "rate": rates,
            }
        )

    return smooth
