"""Numbers that a broker uses once, in all its incarnations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count


def serials(incarnation: int) -> Iterator[int]:
    """Count above all earlier incarnations, so that a late answer to one of them is known by it."""
    return count((incarnation << 32) + 1)
