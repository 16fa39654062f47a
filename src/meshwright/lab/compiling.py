"""Kernels compiled beside other work: those that a plan for a live network uses.

A tiny network goes through the very calls of such a plan, so that no kernel is left out, none is
compiled in vain, and each is compiled for the types of array that the plan gives it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from meshwright import kernel_cache
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.identifiers import ClientName
from meshwright.planning.changes.clients import Population, plan_with_clients
from meshwright.planning.changes.network import PlanWish
from meshwright.planning.founding import founding_overlay
from meshwright.planning.placement.clients import Clients
from meshwright.planning.placement.strategies import DEFAULT_PLACEMENT

BROKERS, TOPICS, TOPICS_PER_BROKER = 5, 6, 3
CLIENTS = 24
LOOK_EVERY_S = 0.2


@contextmanager
def compiling_kernels(
    design: str, k: int | None
) -> Iterator[Callable[[Callable[[tuple[int, int]], None]], None]]:
    """Compile what a plan for a design needs, beside all else; gives what waits for it.

    Who waits is told now and then how many kernels are ready, and that nobody knows of how many.
    """
    process = get_context("spawn").Process(target=compile_for_plan, args=(design, k), daemon=True)
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


def compile_for_plan(design: str, k: int | None = None) -> None:
    """Plan a better overlay and better places for the clients of a tiny network."""
    snapshot = generate_snapshot(BROKERS, TOPICS, TOPICS_PER_BROKER, "unif", seed=0)
    wants = generate_snapshot(CLIENTS, TOPICS, TOPICS_PER_BROKER, "unif", seed=1).interests
    places = np.arange(CLIENTS, dtype=np.int32) % BROKERS
    population = Population(
        tuple(ClientName(f"client{number}") for number in range(CLIENTS)),
        Clients(wants, places, None),
        np.zeros(BROKERS, dtype=np.int32),
    )
    source = founding_overlay(design, snapshot.brokers, k=k)
    wish = PlanWish(design, k=k)
    # Brokers measure how far they are from each other, but may not have done so by then.
    delays_ms = 1.0 + np.random.default_rng(0).random((BROKERS, BROKERS))
    np.fill_diagonal(delays_ms, 0.0)
    for known in (replace(snapshot, delays_ms=delays_ms), snapshot):
        plan_with_clients(known, wish, population, DEFAULT_PLACEMENT, source=source)
