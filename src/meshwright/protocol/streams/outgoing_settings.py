"""How an origin keeps its streams."""

from __future__ import annotations

import msgspec

from meshwright.protocol.streams.quiet_streams import QuietSettings


class OutgoingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When a frame is sent again, how many at a time, and how often members are read anew.

    trust_us: how long after a reading this broker is told of changes; it must be well below the
    time for which the directory remembers readers. keep_for_gone_us: how long what is owed to a
    broker that was removed for good is kept for who takes over its shared subscriptions.
    across_topics: filters of topics that have one order together, for each publisher.
    """

    repair_after_us: int = 2_000_000
    repair_window: int = 64
    check_every_us: int = 1_000_000
    qos0_max: int = 1_000
    trust_us: int = 25_000_000
    keep_for_gone_us: int = 60_000_000
    quiet: QuietSettings = QuietSettings()
    across_topics: tuple[str, ...] = ()
