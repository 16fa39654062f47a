"""The recommendation of a design, beside all designs tried on the traffic that came after.

A workload is drawn; publications are seen for a while, and every design is judged by them. Then
other publications of the same workload come, and some brokers want other topics. Every design is
built and tried for those, as overlays follow interests, and the cheapest that fits is the winner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.lab.workloads import Popularity, generate_snapshot
from meshwright.model.interests import Interests, interests_from_sets
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.recommendation import Wish, recommend

POPULARITIES: tuple[Popularity, ...] = ("unif", "zipf", "expo", "multimodal")


def measure_recommendation(
    *,
    seed: int,
    popularity: Popularity,
    seen_publications: int,
    changed_share: float,
    broker_count: int = 24,
    later_publications: int = 100_000,
) -> dict[str, Any]:
    """Whether the recommended design wins, and how much dearer it is than the winner if not."""
    rng = np.random.default_rng(seed)
    topic_count = int(rng.integers(broker_count // 2, 3 * broker_count))
    topics_per_broker = int(rng.integers(2, max(topic_count // 4, 3)))
    delay_weight = float(rng.choice((0.0, 0.3, 1.0)))
    drawn = generate_snapshot(broker_count, topic_count, topics_per_broker, popularity, seed=seed)
    rates = rng.exponential(size=len(drawn.topics))
    seen = _published(drawn, rates, seen_publications, rng)
    # What is seen and what comes after last unequally long, so only what is sent for each
    # publication can be compared.
    wish = Wish(weights=PriceWeights(delay=delay_weight, management=0.0, link=0.0))
    found = recommend(seen, wish, seed=int(rng.integers(2**32)))
    later = _published(_changed(drawn, changed_share, rng), rates, later_publications, rng)
    winner = recommend(later, wish, seed=int(rng.integers(2**32)))
    prices = {one.name: one.price for one in winner.verdicts if one.fits}
    chosen, best = found.chosen or "", winner.chosen or ""
    median = float(np.median(list(prices.values()))) if prices else np.nan
    lowest = prices.get(best, np.nan)
    return {
        "is_winner": float(chosen == best),
        "still_fits": float(chosen in prices),
        "dearer": 100.0 * (prices.get(chosen, np.nan) / lowest - 1.0),
        "median_dearer": 100.0 * (median / lowest - 1.0),
        "chosen": chosen,
        "winner": best,
    }


def _published(
    snapshot: Snapshot, rates: np.ndarray, count: int, rng: np.random.Generator
) -> Snapshot:
    """The snapshot with as many publications, drawn by the rates of topics."""
    publications = rng.multinomial(count, rates / rates.sum()).astype(np.float64)
    return Snapshot(
        brokers=snapshot.brokers,
        topics=snapshot.topics,
        interests=snapshot.interests,
        publications=publications,
    )


def _changed(snapshot: Snapshot, share: float, rng: np.random.Generator) -> Snapshot:
    """The snapshot in which a share of all interests has gone to another topic."""
    interests = _moved(snapshot.interests, share, rng)
    return Snapshot(
        brokers=snapshot.brokers,
        topics=snapshot.topics,
        interests=interests,
        publications=snapshot.publications,
    )


def _moved(interests: Interests, share: float, rng: np.random.Generator) -> Interests:
    rows = []
    for row in range(interests.row_count):
        topics = interests.of(row).tolist()
        fresh = rng.integers(interests.column_count, size=len(topics)).tolist()
        moves = (rng.random(len(topics)) < share).tolist()
        rows.append(
            {new if goes else old for old, new, goes in zip(topics, fresh, moves, strict=True)}
        )
    return interests_from_sets(rows, interests.column_count)
