"""What a checker found."""

from __future__ import annotations

import msgspec

from meshwright.history.history import EventKey


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must not be; event, client and topic say whose story to tell."""

    checker: str
    sentence: str
    time_us: int
    event: EventKey | None = None
    client: str | None = None
    topic: str | None = None


def seconds(time_us: int) -> str:
    """A time as people read it."""
    return f"{time_us / 1_000_000:.6f} s"
