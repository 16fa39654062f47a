"""Chance: one seed, and a stream of its own for every concern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

DRAWN_AT_ONCE = 4096


class Streams(NamedTuple):
    """A stream for each concern, so that a change in one leaves the draws of the others."""

    topics: np.random.Generator
    overlay: np.random.Generator
    clients: np.random.Generator
    arrivals: np.random.Generator
    churn: np.random.Generator
    moves: np.random.Generator
    faults: np.random.Generator
    network: np.random.Generator
    lines: np.random.Generator
    disks: np.random.Generator
    plans: np.random.Generator
    wills: np.random.Generator
    doubles: np.random.Generator


def streams(seed: int) -> Streams:
    """All streams of a seed."""
    return Streams(*np.random.default_rng(seed).spawn(len(Streams._fields)))


class Draws:
    """Whole numbers from low to high, both included; many at a time, as one by one is slow.

    next gives the next number; it is asked for with every message, so no function of ours runs.
    """

    __slots__ = ("next",)

    def __init__(self, rng: np.random.Generator, low: int, high: int) -> None:
        self.next: Callable[[], int] = chain.from_iterable(_handfuls(rng, low, high)).__next__


def _handfuls(rng: np.random.Generator, low: int, high: int) -> Iterator[list[int]]:
    while True:
        yield rng.integers(low, high, size=DRAWN_AT_ONCE, endpoint=True)[::-1].tolist()
