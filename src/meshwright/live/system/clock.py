"""The time of day that never goes back, in microseconds."""

from __future__ import annotations

import time


class Clock:
    """Follows the machine's clock as it was at the start, and the steady one from then on."""

    __slots__ = ("_offset_us",)

    def __init__(self) -> None:
        self._offset_us = time.time_ns() // 1_000 - time.monotonic_ns() // 1_000

    def now_us(self) -> int:
        return time.monotonic_ns() // 1_000 + self._offset_us
