"""How much sessions may take."""

from __future__ import annotations

from typing import Literal

import msgspec

from meshwright.protocol.foundation.rights import Rights
from meshwright.protocol.sessions.session import RECEIVE_MAXIMUM, UNLIMITED

QueueFull = Literal["refuse", "drop"]


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much may wait for one client, and how much this broker keeps for the network.

    inflight_max and inflight_bytes_max: of what is in flight to a client; one message always may.
    queued_bytes_max: of what waits for all clients together; user_...: for those of one user.
    queue_full: whether what would go to a full queue is refused when it is published, or dropped.
    writes_runs: what is for clients here alone, who are owed nothing after a crash, is on disk
    before it is acknowledged all the same. rights: what clients may read and write; without it,
    everything.
    """

    inflight_max: int = RECEIVE_MAXIMUM
    inflight_bytes_max: int = UNLIMITED
    queue_max: int = 100_000
    queue_bytes_max: int = UNLIMITED
    queued_bytes_max: int = UNLIMITED
    user_queued_bytes_max: int = UNLIMITED
    sessions_max: int = UNLIMITED
    user_sessions_max: int = UNLIMITED
    queue_full: QueueFull = "refuse"
    log_max: int = 1_000_000
    writes_runs: bool = True
    rights: Rights | None = None
