"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_S = 150.0  # who plans may have to compile
LOOK_EVERY_S = 0.02


def until(holds: Callable[[], object]) -> None:
    """Look again and again until something holds; fails if that takes too long."""
    deadline_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(LOOK_EVERY_S)
