"""How much a piece of work does, counted and not timed: the same on every machine, at any load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

# Four times the input may cost this much: four times, and something for the logarithms.
QUADRUPLE_MAX = 5.0


def counted(work: Callable[[], object]) -> int:
    """How many lines of this project's own code a piece of work runs, each time that it does."""
    count = 0

    def line(_frame: FrameType, event: str, _value: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, _event: str, _value: object) -> Any:
        return line if "meshwright" in frame.f_globals.get("__name__", "") else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(prepare: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times as much is done for four times the input; prepare makes the work."""
    few, many = prepare(size), prepare(4 * size)
    return counted(many) / counted(few)
