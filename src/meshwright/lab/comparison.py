"""Every design on one workload: what each costs and how long it took to plan."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import NOW
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.planning.recommendation import Candidate, Wish, candidate, judged


@dataclass(frozen=True, slots=True)
class Timed:
    """A planned candidate and the seconds that building and evaluating it took."""

    candidate: Candidate
    seconds: float


def planned(
    names: Sequence[str],
    snapshot: Snapshot,
    wish: Wish,
    *,
    seed: int,
    seed_count: int = 1,
    today: Overlay | None = None,
) -> Iterator[Timed]:
    """The candidates one by one, each with the chance of the seed, whatever else is compared.

    Each plans a tiny network first, so that the seconds do not include compiling its kernels.
    today: the overlay that stands, which is a candidate, too.
    """
    if today is not None:
        start = time.perf_counter()
        standing = judged(NOW, today, snapshot, wish, today=today)
        yield Timed(standing, time.perf_counter() - start)
    tiny = _tiny_snapshot(seed)
    for name in names:
        candidate(name, tiny, Wish(k=min(wish.k, 2)), seed=seed)
        start = time.perf_counter()
        found = candidate(name, snapshot, wish, seed=seed, seed_count=seed_count, today=today)
        yield Timed(found, time.perf_counter() - start)


def _tiny_snapshot(seed: int) -> Snapshot:
    return generate_snapshot(8, 6, 3, "unif", seed=seed)
