"""Generated workloads: who wants what, by the popularity laws of the papers.

Topics are drawn without repetition by p(t): a weighted draw without replacement takes the smallest
of exponential waiting times with rates p(t). [kTCO, 3.2; DYNATOPS, 1.6]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from meshwright.errors import OperatorError, ProblemError
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import Interests, interests_from_pairs
from meshwright.model.snapshot import Float64Array, Snapshot

Popularity = Literal["unif", "zipf", "expo", "multimodal"]

ZIPF_EXPONENT = 2.0
# Of the exponential law the paper gives no rate: eight decades from the first to the last topic.
EXPO_DECAY = 18.4


@dataclass(frozen=True, slots=True)
class Exponents:
    """How unequal topics are: p(t) ~ (t + 1)^-zipf, or exp(-expo t / topics), t = 0, 1, ..."""

    zipf: float = ZIPF_EXPONENT
    expo: float = EXPO_DECAY

    def __post_init__(self) -> None:
        for name in ("zipf", "expo"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ProblemError(f"The exponent of {name} cannot be {value}; take 0 or more.")


USUAL_EXPONENTS = Exponents()


def generate_snapshot(
    broker_count: int,
    topic_count: int,
    topics_per_broker: int,
    popularity: Popularity,
    *,
    seed: int,
    publications_per_topic: float = 100.0,
    exponents: Exponents = USUAL_EXPONENTS,
) -> Snapshot:
    """A snapshot of a generated workload; topics that nobody drew are left out."""
    rng = np.random.default_rng(seed)
    interests = draw_interests(
        broker_count, topic_count, topics_per_broker, popularity, rng, exponents=exponents
    )
    wanted = np.unique(interests.columns)
    renumbered = Interests(
        len(wanted),
        interests.offsets,
        np.searchsorted(wanted, interests.columns).astype(np.int32),
    )
    width = len(str(max(broker_count, topic_count) - 1))
    return Snapshot(
        brokers=tuple(BrokerName(f"b{index:0{width}d}") for index in range(broker_count)),
        topics=tuple(TopicName(f"t{index:0{width}d}") for index in wanted.tolist()),
        interests=renumbered,
        publications=np.full(len(wanted), publications_per_topic, dtype=np.float64),
    )


def draw_interests(
    broker_count: int,
    topic_count: int,
    topics_per_broker: int,
    popularity: Popularity,
    rng: np.random.Generator,
    *,
    exponents: Exponents = USUAL_EXPONENTS,
) -> Interests:
    """Each broker draws its topics without repetition."""
    if not 1 <= topics_per_broker <= topic_count:
        raise ProblemError(
            f"Each broker cannot want {topics_per_broker} of {topic_count} topics; "
            f"choose between 1 and {topic_count}."
        )
    if popularity == "multimodal":
        weights = _mode_weights(broker_count, topic_count, topics_per_broker, rng)
    else:
        weights = np.broadcast_to(
            topic_weights(topic_count, popularity, exponents), (broker_count, topic_count)
        )
    waits = rng.exponential(size=(broker_count, topic_count)) / weights
    columns = np.argpartition(waits, topics_per_broker - 1, axis=1)[:, :topics_per_broker]
    rows = np.repeat(np.arange(broker_count), topics_per_broker)
    return interests_from_pairs(rows, columns.ravel(), broker_count, topic_count)


def topic_weights(
    topic_count: int, popularity: Popularity, exponents: Exponents = USUAL_EXPONENTS
) -> Float64Array:
    """Relative popularity of each topic, the most popular first: (topic,)."""
    ranks = np.arange(topic_count, dtype=np.float64)
    if popularity == "zipf":
        return (ranks + 1.0) ** -exponents.zipf
    if popularity == "expo":
        return np.exp(-exponents.expo * ranks / topic_count)
    if popularity != "unif":
        known = ", ".join(get_args(Popularity))
        raise OperatorError(f"There is no popularity {popularity!r}; choose one of {known}.")
    return np.ones(topic_count, dtype=np.float64)


def _mode_weights(
    broker_count: int, topic_count: int, topics_per_broker: int, rng: np.random.Generator
) -> Float64Array:
    """Modes of ten topics; a broker draws from the fewest random modes it needs."""
    mode_count = math.ceil(topic_count / 10)
    modes = np.arange(topic_count) * mode_count // topic_count
    mode_waits = rng.random((broker_count, mode_count))
    mode_ranks = np.argsort(np.argsort(mode_waits, axis=1), axis=1)
    chosen_count = math.ceil(topics_per_broker * mode_count / topic_count)
    outside = 1e-12
    weights: Float64Array = np.where(mode_ranks[:, modes] < chosen_count, 1.0, outside)
    return weights
