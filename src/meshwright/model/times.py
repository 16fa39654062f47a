"""Units of time: the core, the simulator and the brokers count microseconds."""

from __future__ import annotations

SECOND_US = 1_000_000
