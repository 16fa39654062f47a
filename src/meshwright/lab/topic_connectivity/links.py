"""Degrees and topic diameters of every topic-connected design on one drawn workload [kTCO, 3.2]."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np

from meshwright.lab.workloads import EXPO_DECAY, ZIPF_EXPONENT, Exponents, generate_snapshot
from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.topic_connected.builders import build_links
from meshwright.planning.topic_connected.measures import degrees, topic_diameters
from meshwright.planning.topic_connected.validation import failing_topics

# The paper's own k of HararyPT.
HARARY_KS = tuple(range(2, 15))


def drawn_interests(
    *,
    seed: int,
    brokers: int,
    topics: int,
    topics_per_broker: int,
    popularity: Any,
    zipf_exponent: float = ZIPF_EXPONENT,
    expo_decay: float = EXPO_DECAY,
) -> Interests:
    """A workload of the paper's; every seed draws another one."""
    exponents = Exponents(zipf=zipf_exponent, expo=expo_decay)
    return generate_snapshot(
        brokers, topics, topics_per_broker, popularity, seed=seed, exponents=exponents
    ).interests


def measure_links(*, seed: int, with_best: bool = True, **workload: Any) -> list[dict[str, Any]]:
    """A row for each design: its links, and for the greedy ones the diameters of its topics."""
    interests = drawn_interests(seed=seed, **workload)
    asked = [("gm", 1), ("gm2", 2), ("cycle", 2), *(("harary", k) for k in HARARY_KS)]
    if with_best:
        asked.append(("best", 2))
    return [
        _row(design, k, interests, seed, with_diameters=design in {"gm", "gm2", "best"})
        for design, k in asked
    ]


def measure_best(*, seed: int, ks: Sequence[int] = (2, 4), **workload: Any) -> list[dict[str, Any]]:
    """Our builder and the paper's for the same k, each with its diameters, k checked exactly."""
    interests = drawn_interests(seed=seed, **workload)
    found = []
    for k in ks:
        for design in ("best", "gm2" if k == 2 else "harary"):
            row = _row(design, k, interests, seed, with_diameters=True)
            links = build_links(design, interests, k=k, rng=np.random.default_rng(seed))
            found.append(row | {"topics_failing": len(failing_topics(links, interests, k))})
    return found


def measure_time(*, seed: int, design: str, k: int | None, **workload: Any) -> dict[str, Any]:
    """CPU seconds of one builder; the first call, which may compile, is not counted."""
    rng = np.random.default_rng(seed)
    small = drawn_interests(
        seed=seed, brokers=20, topics=20, topics_per_broker=5, popularity=workload["popularity"]
    )
    build_links(design, small, k=k, rng=rng)
    interests = drawn_interests(seed=seed, **workload)
    started_s = process_time()
    build_links(design, interests, k=k, rng=rng)
    return {"seconds": process_time() - started_s}


def _row(
    design: str, k: int, interests: Interests, seed: int, *, with_diameters: bool
) -> dict[str, Any]:
    links = build_links(design, interests, k=k, rng=np.random.default_rng(seed))
    return {
        "design": design,
        "k": k,
        "line": design if design != "harary" else f"harary {k}",
        "degree": 2 * len(links) / interests.row_count,
        "degree_max": int(degrees(links, interests.row_count).max()),
        **(_diameters(links, interests) if with_diameters else _NO_DIAMETERS),
    }


_NO_DIAMETERS = {"diameter_mean": float("nan"), "diameter_max": float("nan")}


def _diameters(links: Int32Array, interests: Interests) -> dict[str, float]:
    diameters = topic_diameters(links, interests)
    return {"diameter_mean": float(diameters.mean()), "diameter_max": float(diameters.max())}
