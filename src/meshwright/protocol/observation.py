"""What an onlooker may know of a broker without asking it to do anything."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.overlay import Overlay


class Queue(NamedTuple):
    """How much waits somewhere, and how much may."""

    name: str
    length: int
    length_max: int


class Observation(NamedTuple):
    """The overlay in force, whether a plan is under way here, and the longest of each queue."""

    epoch: int
    overlay: Overlay
    is_changing: bool
    queues: tuple[Queue, ...]
