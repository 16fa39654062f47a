"""Which topics users want: the three patterns of the Poisson model [DYNATOPS, 1.6]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meshwright.model.interests import Int64Array
from meshwright.model.snapshot import Float64Array
from meshwright.pipeline.generators.parameters import PatternName


@dataclass(frozen=True, slots=True, eq=False)
class TopicPattern:
    """Probability of each topic, (topic,), and the first topic of each mode and beyond the last.

    Without modes everybody draws by the shares. With modes a user at home draws from its own mode,
    and elsewhere from all other modes, any topic alike.
    """

    shares: Float64Array
    mode_edges: Int64Array | None

    def draw(
        self, rng: np.random.Generator, homes: Int64Array, is_at_home: NDArray[np.bool_]
    ) -> Int64Array:
        """One topic a user: (user,)."""
        luck = rng.random(len(homes))
        if self.mode_edges is None:
            cumulated = np.cumsum(self.shares)
            return np.minimum(np.searchsorted(cumulated, luck, "right"), len(self.shares) - 1)
        low, high = self.mode_edges[homes], self.mode_edges[homes + 1]
        inside = low + (luck * (high - low)).astype(np.int64)
        outside = (luck * (len(self.shares) - (high - low))).astype(np.int64)
        outside += np.where(outside >= low, high - low, 0)
        return np.where(is_at_home, inside, outside)

    def draw_fresh(
        self,
        rng: np.random.Generator,
        held: Int64Array,
        homes: Int64Array,
        is_at_home: NDArray[np.bool_],
    ) -> Int64Array:
        """One topic a user that is not among those it holds, (user, place): drawn until it fits."""
        drawn = np.full(len(held), -1, dtype=np.int64)
        pending = np.arange(len(held))
        while len(pending):
            drawn[pending] = self.draw(rng, homes[pending], is_at_home[pending])
            pending = pending[(held[pending] == drawn[pending, None]).any(axis=1)]
        return drawn


def topic_pattern(
    name: PatternName, topic_count: int, *, zipf_exponent: float, mode_count: int
) -> TopicPattern:
    """The pattern; the first topic is the most popular where they differ."""
    ranks = np.arange(1, topic_count + 1, dtype=np.float64)
    # The paper's law begins at 2: of 1000 topics, the first has 7.7 % at exponent 1, not 13.4 %.
    weights = (ranks + 1.0) ** -zipf_exponent if name == "zipf" else np.ones(topic_count)
    edges = -(-np.arange(mode_count + 1) * topic_count // mode_count)
    return TopicPattern(weights / weights.sum(), edges if name == "multimodal" else None)
