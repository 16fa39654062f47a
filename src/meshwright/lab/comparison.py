"""Every design on one workload: what each costs and how long it took to plan."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS, bare_name
from meshwright.model.snapshot import Snapshot
from meshwright.planning.recommendation import Candidate, Wish, candidate


@dataclass(frozen=True, slots=True)
class Timed:
    """A planned candidate and the seconds that building and evaluating it took."""

    candidate: Candidate
    seconds: float


def planned(names: Sequence[str], snapshot: Snapshot, wish: Wish, *, seed: int) -> Iterator[Timed]:
    """The candidates one by one; each has its own stream of chance, whatever else is compared.

    Each plans a tiny network first, so that the seconds do not include compiling its kernels.
    """
    tiny = _tiny_snapshot(seed)
    for name in names:
        candidate(name, tiny, Wish(k=min(wish.k, 2)), rng=np.random.default_rng(seed))
        start = time.perf_counter()
        found = candidate(name, snapshot, wish, rng=_stream(name, seed))
        yield Timed(found, time.perf_counter() - start)


def _stream(name: str, seed: int) -> np.random.Generator:
    """The chance of a design, the same with whatever parameters."""
    row = list(DESIGNS).index(bare_name(name))
    return np.random.default_rng(seed).spawn(row + 1)[row]


def _tiny_snapshot(seed: int) -> Snapshot:
    return generate_snapshot(8, 6, 3, "unif", seed=seed)
