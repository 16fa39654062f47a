"""What a checker found."""

from __future__ import annotations

import msgspec

from meshwright.history.history import Delivered, EventKey


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must not be; event, client and topic say whose story to tell."""

    checker: str
    sentence: str
    time_us: int
    event: EventKey | None = None
    client: str | None = None
    topic: str | None = None


def wrong_delivery(checker: str, one: Delivered, reason: str) -> Violation:
    """A delivery that must not be, and why."""
    return Violation(
        checker=checker,
        sentence=(
            f"{one.client} got {one.publisher}:{one.sequence} on {one.topic} with QoS {one.qos} "
            f"at {seconds(one.time_us)} from {one.broker}, but {reason}"
        ),
        time_us=one.time_us,
        event=(one.publisher, one.sequence),
        client=one.client,
        topic=one.topic,
    )


def seconds(time_us: int) -> str:
    """A time as people read it."""
    return f"{time_us / 1_000_000:.6f} s"
