"""How sentences for people count things, and name amounts."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: 1 session, 2 sessions."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def amount(value: float) -> str:
    """In full from a hundred on, as fractions say nothing there; else with six digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.6g}"
