"""A swarm: many seeds on every design, each with its own mix of network, traffic and trouble.

What a seed mixes depends on nothing but the seed and the design. Seeds run in several processes,
and their answers come in order, so that a swarm prints the same whatever the machine.
"""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from meshwright.model.designs import design as design_named
from meshwright.sim.runs.collector import rare_collections
from meshwright.sim.runs.simulation import SimulationResult, simulate
from meshwright.sim.scenario.faults import FAULTS
from meshwright.sim.scenario.parameters import SimulationParameters

POLICIES = (
    "standard", "prefetching", "logging", "home", "device", "prefetching+logging",
    "prefetching+logging+device",
)  # fmt: skip
SEEDS_AT_ONCE = 4
# One seed in so many has a network where nothing changes, whose messages have a closed form.
STILL_EVERY = 16
K_ASKED = 3


class Case(NamedTuple):
    """One seed on one design."""

    design: str
    seed: int


class Outcome(NamedTuple):
    """What a case came to."""

    case: Case
    result: SimulationResult


def cases(designs: Iterable[str], seeds: Iterable[int]) -> list[Case]:
    """All seeds of one design after those of another."""
    chosen = tuple(seeds)
    return [Case(design, seed) for design in designs for seed in chosen]


def run_swarm(chosen: Iterable[Case], *, processes: int = 1) -> Generator[Outcome, None, None]:
    """Run cases in their order, in as many processes as asked for."""
    if processes == 1:
        with rare_collections():
            yield from map(run_case, chosen)
        return
    # New processes rather than copies of this one, which may have threads.
    context = get_context("spawn")
    others = set(active_children())
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_begin)
    try:
        with _started_without_interrupts():
            outcomes = pool.map(run_case, chosen, chunksize=SEEDS_AT_ONCE)
        yield from outcomes
    except BaseException:  # whoever stops waits neither for what runs nor for hours of what would
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _started_without_interrupts() -> Iterator[None]:
    """Have processes that start never hear Ctrl-C: it is for this one, which ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_case(case: Case) -> Outcome:
    """Run one seed on one design."""
    return Outcome(case, simulate(mixed(case), case.seed))


def mixed(case: Case) -> SimulationParameters:
    """The network, the traffic and the trouble of a seed on a design."""
    rng = np.random.default_rng(case.seed)
    sizes = _sizes(rng)
    if case.seed % STILL_EVERY == 0:
        return SimulationParameters(
            design=case.design, changes_per_s=0.0, wildcard_share=0.0, content_share=0.0, **sizes
        )
    faults = tuple(name for name in FAULTS if rng.random() < 0.4)
    mobility = str(rng.choice(POLICIES)) if rng.random() < 0.6 else None
    has_plans, adapts, has_k, tight, shares, retains = (rng.random(6) < 0.4).tolist()
    row = design_named(case.design)
    parameters = SimulationParameters(
        design=case.design,
        faults=faults,
        mobility=mobility,
        moves_per_s=round(float(rng.uniform(0.5, 5.0)), 1),
        reconfigure=has_plans,
        adapts=adapts and row.can_adapt,
        k=K_ASKED if has_k and row.k_most is None else None,
        tight=tight,
        shared_share=0.3 if shares else 0.0,
        retained_share=0.2 if retains else 0.0,
        **{**sizes, **_sparse(rng)},
    )
    # Drawn last, so that seeds of before have the same trouble otherwise.
    forgets, gathers, dies, doubles = (rng.random(4) < (0.5, 0.25, 0.4, 0.25)).tolist()
    ordered = bool(rng.random() < 0.3)
    return replace(
        parameters,
        ordered=ordered,
        forgets=forgets,
        gathers=gathers,
        will_share=0.4 if dies else 0.0,
        doubles_per_s=2.0 if doubles else 0.0,
    )


def _sizes(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "brokers": int(rng.integers(3, 13)),
        "clients": int(rng.integers(6, 31)),
        "topics": int(rng.integers(3, 17)),
        "filters_per_client": int(rng.integers(1, 5)),
        "publications_per_s": float(rng.integers(5, 41)),
        "duration_s": float(rng.integers(4, 15)),
    }


def _sparse(rng: np.random.Generator) -> dict[str, Any]:
    """In some networks most brokers want little, and often something else: much is to be told."""
    if rng.random() < 0.6:
        return {"changes_per_s": round(float(rng.uniform(0.0, 3.0)), 1)}
    return {
        "filters_per_client": 1,
        "clients": int(rng.integers(6, 13)),
        "topics": int(rng.integers(3, 7)),
        "changes_per_s": float(rng.integers(5, 16)),
        "publications_per_s": float(rng.integers(30, 81)),
    }


def _begin() -> None:
    """A process that does nothing but run seeds looks for garbage seldom."""
    rare_collections().__enter__()
