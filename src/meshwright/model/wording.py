"""How sentences for people count things."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: 1 session, 2 sessions."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
