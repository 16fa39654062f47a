"""The 32-bit key space on which brokers have positions and topics have keys."""

from __future__ import annotations

import numpy as np

from meshwright.errors import CallerError, ProblemError
from meshwright.model.identifiers import KEY_BITS
from meshwright.model.interests import Int64Array

KEY_SPACE = 1 << KEY_BITS


def even_identifiers(position_count: int) -> Int64Array:
    """Position i of n is floor(i * 2**32 / n): (position,)."""
    if not 1 <= position_count <= KEY_SPACE:
        raise ProblemError(
            f"A geometry cannot have {position_count} positions; give it at least one broker."
        )
    return np.arange(position_count, dtype=np.int64) * KEY_SPACE // position_count


def checked_identifiers(position_count: int, identifiers: Int64Array | None) -> Int64Array:
    """A copy of the given identifiers once they are found sound; the even ones if none are."""
    if identifiers is None:
        return even_identifiers(position_count)
    checked = np.array(identifiers, dtype=np.int64)
    if checked.shape != (position_count,) or position_count < 1:
        raise CallerError(
            f"{position_count} positions need as many identifiers, not {checked.shape}."
        )
    if checked[0] < 0 or checked[-1] >= KEY_SPACE or bool(np.any(np.diff(checked) <= 0)):
        raise CallerError("Identifiers must be distinct, ascending and within 32 bits.")
    return checked


def clockwise(source: int, target: int) -> int:
    """Distance from one identifier to another in the direction in which identifiers grow."""
    return (target - source) % KEY_SPACE
