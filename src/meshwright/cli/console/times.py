"""Times and durations as people write them."""

from __future__ import annotations

import re

DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|min|h|d|w)?")
UNITS_S = {None: 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def duration_s(text: str) -> float:
    """Seconds of 90, 90s, 15min, 10h, 2d or 1w; more than none."""
    from meshwright.errors import OperatorError

    found = DURATION.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise OperatorError(f"{text!r} is no duration; write 90s, 15min, 10h, 2d or 1w.")
    return float(found[1]) * UNITS_S[found[2]]


def lasting(seconds: float) -> str:
    """A duration in the largest unit up to hours of which it has at least one."""
    unit = next((one for one in ("h", "min") if seconds >= UNITS_S[one]), "s")
    return f"{seconds / UNITS_S[unit]:g} {unit}"


def whole_seconds(text: str) -> int:
    """The same in whole seconds."""
    from meshwright.errors import OperatorError

    seconds = duration_s(text)
    if not seconds.is_integer():
        raise OperatorError(f"{text!r} is not in whole seconds; choose a whole number.")
    return int(seconds)


def time_us(text: str) -> int:
    """Microseconds since 1970 of a time in ISO 8601, in UTC unless it says otherwise."""
    from datetime import UTC, datetime, timedelta

    from meshwright.errors import OperatorError

    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise OperatorError(f"{text!r} is no time; write 2010-08-01T12:00:00.") from None
    time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
