"""Chance: one seed, and a stream of its own for every concern."""

from __future__ import annotations

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


def streams(seed: int) -> Streams:
    """All streams of a seed."""
    return Streams(*np.random.default_rng(seed).spawn(len(Streams._fields)))


class Draws:
    """Whole numbers from low to high, both included; many at a time, as one by one is slow."""

    __slots__ = ("_drawn", "_high", "_low", "_rng")

    def __init__(self, rng: np.random.Generator, low: int, high: int) -> None:
        self._rng = rng
        self._low = low
        self._high = high
        self._drawn: list[int] = []

    def next(self) -> int:
        """The next number."""
        if not self._drawn:
            self._drawn = self._rng.integers(
                self._low, self._high, size=DRAWN_AT_ONCE, endpoint=True
            ).tolist()
        return self._drawn.pop()
