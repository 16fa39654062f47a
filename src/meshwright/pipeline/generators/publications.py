"""Publications of a generated trace: each topic a Poisson process, the publisher any user."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.generators.blocks import (
    HOUR_US,
    TOPICS_PER_BLOCK,
    Columns,
    Concern,
    names,
    stream,
)
from meshwright.pipeline.generators.parameters import SharedParameters


def hourly_rates(shares: Float64Array, parameters: SharedParameters) -> Float64Array:
    """Publications of each topic an hour, (topic,): all alike, or by how popular they are."""
    if parameters.publish_by == "popularity":
        return shares * len(shares) * parameters.publications_per_hour
    return np.full(len(shares), parameters.publications_per_hour)


def publication_columns(
    parameters: SharedParameters,
    topic_names: pa.Array,
    rates: Float64Array,
    hours: float,
    block: int,
) -> Columns:
    """The publications of a block of topics, by time."""
    rng = stream(parameters.seed, Concern.PUBLICATIONS, block)
    drawn = rng.poisson(rates[block * TOPICS_PER_BLOCK :][:TOPICS_PER_BLOCK] * hours)
    topics = block * TOPICS_PER_BLOCK + np.repeat(np.arange(len(drawn)), drawn)
    times_us = (rng.random(len(topics)) * hours * HOUR_US).astype(np.int64)
    publishers = rng.integers(parameters.users, size=len(topics))
    order = np.lexsort((topics, times_us))
    return {
        "time": parameters.begin_us() + times_us[order],
        "topic": topic_names.take(pa.array(topics[order])),
        "publisher": names("u", publishers[order], parameters.users),
        "bytes": np.full(len(topics), parameters.payload_bytes, dtype=np.int64),
    }
