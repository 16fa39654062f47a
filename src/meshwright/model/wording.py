"""How sentences for people count things, and name amounts."""

from __future__ import annotations

# What a float knows.
DIGITS_MAX = 15


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: 1 session, 2 sessions."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def amount(value: float) -> str:
    """In full from a hundred on, as fractions say nothing there; else with three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def amounts(before: float, after: float) -> tuple[str, str]:
    """Two amounts, with as many digits as it takes to tell them apart."""
    one, other = amount(before), amount(after)
    for places in range(1, DIGITS_MAX):
        if one != other or before == after:
            break
        one, other = f"{before:,.{places}f}", f"{after:,.{places}f}"
    return one, other
