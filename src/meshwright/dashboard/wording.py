"""How pages say numbers and times."""

from __future__ import annotations

import time

from meshwright.model.times import SECOND_US
from meshwright.model.wording import amount


def rate(value: float) -> str:
    """Messages a second."""
    return f"{number(value)}/s"


def number(value: float | None) -> str:
    """Three digits, or whole; - for what is not known."""
    if value is None:
        return "-"
    return amount(value)


def milliseconds(value: float | None) -> str:
    """A delay."""
    return "-" if value is None else f"{number(value)} ms"


def ago(time_us: int) -> str:
    """How long something has been so; "" if that is not known."""
    if not time_us:
        return ""
    seconds = max(0.0, time.time() - time_us / SECOND_US)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return "just now"


def clock(time_us: int) -> str:
    """A time of day on this machine."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_us / SECOND_US))


def change(before: float, after: float) -> str:
    """How much less or more something is."""
    if not before:
        return ""
    share = (after - before) / before
    return f"{abs(share):.1%} {'less' if share < 0 else 'more'}"
