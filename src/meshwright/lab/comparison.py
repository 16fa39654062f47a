"""Every design on one workload: what each costs and how long it took to plan."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from meshwright.errors import OperatorError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.snapshot import Snapshot
from meshwright.planning.recommendation import CANDIDATES, Candidate, Wish, candidate


@dataclass(frozen=True, slots=True)
class Timed:
    """A planned candidate and the seconds that building and evaluating it took."""

    candidate: Candidate
    seconds: float


def chosen_candidates(names: str | None) -> tuple[str, ...]:
    """The candidates of a list with commas, in their usual order; all of them for None."""
    if names is None:
        return CANDIDATES
    wanted = {name.strip() for name in names.split(",")}
    unknown = sorted(wanted - set(CANDIDATES))
    if unknown:
        raise OperatorError(
            f"There is no design {unknown[0]!r}; choose from {', '.join(CANDIDATES)}."
        )
    return tuple(name for name in CANDIDATES if name in wanted)


def planned(names: Sequence[str], snapshot: Snapshot, wish: Wish, *, seed: int) -> Iterator[Timed]:
    """The candidates one by one; each has its own stream of chance, whatever else is compared.

    Each plans a tiny network first, so that the seconds do not include compiling its kernels.
    """
    tiny = _tiny_snapshot(seed)
    streams = dict(zip(CANDIDATES, np.random.default_rng(seed).spawn(len(CANDIDATES)), strict=True))
    for name in names:
        candidate(name, tiny, Wish(k=min(wish.k, 2)), rng=np.random.default_rng(seed))
        start = time.perf_counter()
        found = candidate(name, snapshot, wish, rng=streams[name])
        yield Timed(found, time.perf_counter() - start)


def _tiny_snapshot(seed: int) -> Snapshot:
    return generate_snapshot(8, 6, 3, "unif", seed=seed)
