"""How many of the files that a process may open each kind of connection may take.

Every connection is a file. What strangers can open must leave some for all else: the other doors,
links between brokers, the disk, telemetry.
"""

from __future__ import annotations

import resource
from typing import NamedTuple

HTTP_MAX = 64
STRANGERS_MAX = 256
KEPT_MAX = 512


class FileBudget(NamedTuple):
    """Connections at once: of clients, at each HTTP door, and of unknown brokers; 0: no limit."""

    clients: int
    http: int
    strangers: int


def file_budget() -> FileBudget:
    """What this process may share out; where files are few, half of them are the clients'."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return FileBudget(0, HTTP_MAX, STRANGERS_MAX)
    return FileBudget(
        clients=max(1, files - min(KEPT_MAX, files // 2)),
        http=max(2, min(HTTP_MAX, files // 16)),
        strangers=max(4, min(STRANGERS_MAX, files // 8)),
    )
