"""Kernels compiled beside other work: those that a replay of a trace uses, in its order.

A tiny network goes through the very calls of a replay, so that no kernel is left out, none is
compiled in vain, and each is compiled for the types of array that the replay gives it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from meshwright import kernel_cache
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.stages.replay_units import ReplayUnit, counted
from meshwright.planning.evaluation.evaluate import carrier_of
from meshwright.planning.placement.over_time import Asks, place_over_time
from meshwright.planning.placement.strategies import DEFAULT_PLACEMENT, PlacementRules
from meshwright.planning.succession import EpochRules, follow

BROKERS, TOPICS, TOPICS_PER_BROKER = 8, 6, 3
EPOCHS = 2
LOOK_EVERY_S = 0.2


@contextmanager
def compiling_kernels(
    designs: Sequence[str],
) -> Iterator[Callable[[Callable[[tuple[int, int]], None]], None]]:
    """Compile what a replay of these designs needs, beside all else; gives what waits for it.

    Who waits is told now and then how many kernels are ready, and that nobody knows of how many.
    """
    process = get_context("spawn").Process(target=compile_for_replay, args=(designs,), daemon=True)
    # Ctrl-C is for whoever waits for this; who is started without it never hears of it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    process.start()
    signal.signal(signal.SIGINT, before)

    def wait(progress: Callable[[tuple[int, int]], None]) -> None:
        while process.is_alive():
            process.join(LOOK_EVERY_S)
            progress((ready_count(), 0))

    try:
        yield wait
    finally:
        process.kill()
        process.join()


def ready_count() -> int:
    """Compiled kernels on disk."""
    return sum(1 for _ in Path(os.environ[kernel_cache.VARIABLE]).rglob("*.nbc"))


def compile_for_replay(designs: Sequence[str]) -> None:
    """Replay two epochs of a tiny network with every design."""
    _place_clients()
    snapshots = [
        generate_snapshot(BROKERS, TOPICS, TOPICS_PER_BROKER, "unif", seed=seed)
        for seed in range(EPOCHS)
    ]
    for design in designs:
        former: Overlay | None = None
        for epoch, snapshot in enumerate(snapshots):
            former = follow(design, former, snapshot, EpochRules(), seed=epoch).overlay
            counted(_unit(snapshot), carrier_of(former, snapshot))


def _place_clients() -> None:
    """Every broker of a network as if it were a client that looks for one."""
    wants = generate_snapshot(BROKERS, TOPICS, TOPICS_PER_BROKER, "unif", seed=0).interests
    asks = Asks(
        np.zeros(BROKERS, dtype=np.int64),
        np.arange(BROKERS, dtype=np.int64),
        wants,
        np.zeros(BROKERS, dtype=np.bool_),
    )
    chance = np.random.default_rng(0)
    place_over_time(asks, 2, DEFAULT_PLACEMENT, chance, rules=PlacementRules())


def _unit(snapshot: Snapshot) -> ReplayUnit:
    """One slot in which everybody subscribes and every topic is published to."""
    return ReplayUnit(
        snapshot,
        np.ones((len(snapshot.topics), 1), dtype=np.int64),
        snapshot.interests.columns.astype(np.int64),
        snapshot.interests.row_of_pairs().astype(np.int64),
    )
