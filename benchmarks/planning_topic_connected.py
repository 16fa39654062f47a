"""Topic-connected builders: speed, and what comes out in that time.

Sizes read brokers x topics x topics per broker. Degree is the mean over brokers; diameter is of the
topics' sub-overlays, mean and highest, and stands beside every degree. Kernels are compiled before
anything is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.table import Row, timed
from meshwright.lab.workloads import Popularity, generate_snapshot
from meshwright.model.designs import DESIGNS
from meshwright.model.interests import Int32Array, Interests, interests_from_pairs
from meshwright.planning.topic_connected.best import best_links
from meshwright.planning.topic_connected.builders import build_links
from meshwright.planning.topic_connected.churn import join, leave
from meshwright.planning.topic_connected.circulants import harary
from meshwright.planning.topic_connected.greedy import gm, gm2
from meshwright.planning.topic_connected.measures import degrees, topic_diameters
from meshwright.planning.topic_connected.pruning import pruned
from meshwright.planning.topic_connected.validation import is_topic_connected

POPULARITIES: tuple[Popularity, ...] = ("unif", "expo", "zipf")
SEED = 1
MEMORY_TARGET_MB = 200
# brokers, topics, topics per broker, target in seconds
GM2_SIZES = ((1000, 200, 30, 0.15), (1000, 1000, 100, 0.8), (5000, 200, 30, 5.0))
BEST_DEGREE_SHARES = {"unif": 0.90, "expo": 0.72, "zipf": 0.72}
CHOOSING = [name for name, row in DESIGNS.items() if row.choose_links is not None]


def rows() -> list[Row]:
    compilation = _compilation()
    return [
        compilation,
        *(_gm2_speed(*size, law) for size in GM2_SIZES for law in POPULARITIES),
        *(_gm2_memory(law) for law in POPULARITIES),
        *(row for law in POPULARITIES for row in _harary_speed(law)),
        *(_best(2, "gm2", BEST_DEGREE_SHARES[law], law) for law in POPULARITIES),
        *(_best(4, "harary", 0.5, law) for law in POPULARITIES),
        *(_designs(law) for law in POPULARITIES),
        *(row for law in POPULARITIES for row in _one_broker(law)),
    ]


def _compilation() -> Row:
    start = time.perf_counter()
    for topics_per_broker in (10, 100, 200):
        interests = _interests(40, 200, topics_per_broker, "unif")
        for design in CHOOSING:
            build_links(design, interests, rng=np.random.default_rng(0))
        best_links(interests, k=4)
        links = gm(interests)
        _described(links, interests)
        pruned(links, interests, 1)
        is_topic_connected(links, interests, 1)
        leave(links, _without(interests, 0), 0, 1)
    return Row(
        "topic-connected: first call of the kernels",
        f"{time.perf_counter() - start:.2f} s",
        "-",
        note="compilation, or reading the cached kernels; excluded below",
    )


def _gm2_speed(
    brokers: int, topics: int, topics_per_broker: int, target_s: float, law: Popularity
) -> Row:
    interests = _interests(brokers, topics, topics_per_broker, law)
    seconds, links = timed(lambda: gm2(interests))
    return Row(
        f"gm2 exact, {brokers} x {topics} x {topics_per_broker}, {law}",
        f"{seconds:.3f} s",
        f"{target_s:g} s",
        met=seconds <= target_s,
        note=_described(links, interests),
    )


def _gm2_memory(law: Popularity) -> Row:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh_process:
        before_mb, peak_mb = fresh_process.submit(_peaks_mb, law).result()
    return Row(
        f"gm2 memory, 5000 x 200 x 30, {law}",
        f"{peak_mb:.0f} MB",
        f"{MEMORY_TARGET_MB} MB",
        met=peak_mb < MEMORY_TARGET_MB,
        note=f"peak of a fresh process, {before_mb:.0f} MB of it before the workload is made",
    )


def _peaks_mb(law: Popularity) -> tuple[float, float]:
    """Highest resident memory before and after gm2 of the largest size, kernels being cached."""
    gm2(_interests(40, 200, 10, "unif"))
    before_mb = _peak_mb()
    gm2(_interests(5000, 200, 30, law))
    return before_mb, _peak_mb()


def _peak_mb() -> float:
    """Highest resident memory of this process; getrusage would count that of its parent too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _harary_speed(law: Popularity) -> list[Row]:
    interests = _interests(1000, 200, 30, law)
    built_s, links = timed(lambda: harary(interests, k=10))
    ordered_s, ordered = timed(lambda: harary(interests, k=10, order="fewest_edges"))
    checked_s, holds = timed(lambda: is_topic_connected(links, interests, 10))
    return [
        Row(
            f"harary k = 10, 1000 x 200 x 30, {law}",
            f"{built_s:.3f} s",
            "0.05 s",
            met=built_s <= 0.05,
            note=_described(links, interests),
        ),
        Row(
            f"harary k = 10, order fewest_edges, {law}",
            f"{ordered_s:.3f} s",
            "-",
            note=_described(ordered, interests),
        ),
        Row(
            f"exact check k = 10 of it, {law}",
            f"{checked_s:.3f} s",
            "1.5 s",
            met=checked_s <= 1.5 and holds,
            note="every topic holds" if holds else "a topic fails",
        ),
    ]


def _best(k: int, rival: str, share: float, law: Popularity) -> Row:
    interests = _interests(1000, 200, 30, law)
    seconds, found = timed(lambda: best_links(interests, k=k))
    theirs = build_links(rival, interests, k=k, rng=np.random.default_rng(SEED))
    reached = len(found.links) / len(theirs)
    fast = k == 2 or seconds <= 1.5
    return Row(
        f"best k = {k}, 1000 x 200 x 30, {law}",
        f"{reached:.3f} of {rival}'s degree in {seconds:.2f} s",
        f"<= {share:g}" + ("" if k == 2 else " in 1.5 s"),
        met=reached <= share and fast and is_topic_connected(found.links, interests, k),
        note=f"{_described(found.links, interests)}; {rival}: {_described(theirs, interests)}",
    )


def _designs(law: Popularity) -> Row:
    interests = _interests(1000, 200, 30, law)
    notes = []
    for design in ("gm", "minmax", "dcbm", "cycle"):
        work = _built(design, interests)
        seconds, links = timed(work)
        notes.append(f"{design} {seconds:.3f} s: {_described(links, interests)}")
    return Row(f"other designs, 1000 x 200 x 30, {law}", "see note", "-", note="; ".join(notes))


def _built(design: str, interests: Interests) -> Callable[[], Int32Array]:
    return lambda: build_links(design, interests, rng=np.random.default_rng(SEED))


def _one_broker(law: Popularity) -> list[Row]:
    """A broker leaves an overlay of `best` for k = 2 and comes back."""
    interests = _interests(1000, 200, 30, law)
    links = best_links(interests, k=2).links
    broker = 500
    gone = _without(interests, broker)
    left_s, left = timed(lambda: leave(links, gone, broker, 2))
    joined_s, joined = timed(lambda: join(left.links, interests, broker, 2))
    return [
        Row(
            f"one broker leaves, best k = 2, {law}",
            f"{left_s * 1000:.1f} ms",
            "-",
            note=f"{len(left.removed)} links removed, {len(left.added)} added",
        ),
        Row(
            f"one broker joins, best k = 2, {law}",
            f"{joined_s * 1000:.1f} ms",
            "-",
            note=f"{len(joined.added)} links added",
        ),
    ]


def _without(interests: Interests, broker: int) -> Interests:
    """The same interests, with an empty row for one broker."""
    rows = interests.row_of_pairs()
    others = rows != broker
    return interests_from_pairs(
        rows[others], interests.columns[others], interests.row_count, interests.column_count
    )


def _described(links: Int32Array, interests: Interests) -> str:
    spread = degrees(links, interests.row_count)
    diameters = topic_diameters(links, interests)
    return (
        f"degree {spread.mean():.2f}, highest {spread.max()}; "
        f"diameter {diameters.mean():.1f}, highest {diameters.max()}"
    )


def _interests(brokers: int, topics: int, topics_per_broker: int, law: Popularity) -> Interests:
    return generate_snapshot(brokers, topics, topics_per_broker, law, seed=SEED).interests
