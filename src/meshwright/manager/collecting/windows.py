"""Trace to enough of it: how many windows of telemetry there are, and how many a plan needs."""

from __future__ import annotations

import msgspec

from meshwright.manager.collecting.collection import Span
from meshwright.manager.settings import WindowSettings
from meshwright.model.times import SECOND_US

MINUTE_S = 60.0


class Windows(msgspec.Struct, frozen=True, kw_only=True):
    """Windows that are whole; ready_in_s: 0 once there are enough."""

    have: int
    needed: int
    ready_in_s: float

    @property
    def is_enough(self) -> bool:
        return self.have >= self.needed

    def told(self) -> str:
        """For people."""
        if self.is_enough:
            return f"ready: {self.have} windows of telemetry, {self.needed} are needed"
        minutes = self.ready_in_s / MINUTE_S
        when = f"{minutes:.0f} min" if minutes >= 1.5 else f"{self.ready_in_s:.0f} s"
        return f"collecting: {self.have} of {self.needed} windows, ready in about {when}"


def windows_of(span: Span | None, settings: WindowSettings) -> Windows:
    """How many windows a trace has that spans this; None: it has not begun."""
    span_s = 0.0 if span is None else max(0, span.until_us - span.since_us) / SECOND_US
    have = int(span_s // settings.length_s)
    left_s = settings.needed * settings.length_s - span_s
    return Windows(have=have, needed=settings.needed, ready_in_s=max(0.0, left_s))
