"""Brokers that died of their own errors."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.history.violation import Violation, seconds
from meshwright.sim.brokers.breakdown import Breakdown


def broken(breakdowns: Iterable[Breakdown]) -> list[Violation]:
    """Every error that a broker raised."""
    return [
        Violation(
            checker="broken",
            sentence=(
                f"{one.broker} died at {seconds(one.time_us)} of {one.error} ({one.place}), "
                f"as it took in {one.event}"
            ),
            time_us=one.time_us,
        )
        for one in breakdowns
    ]
