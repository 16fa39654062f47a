"""How often Python looks for garbage in circles, of which a simulation makes next to none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# A run keeps all its evidence, so looking through it again and again finds nothing.
ALLOCATIONS_BETWEEN = 1_000_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look seldom, and never at what stood before; for hosts that run seed after seed."""
    former = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_BETWEEN, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
        gc.unfreeze()
