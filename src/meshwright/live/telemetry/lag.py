"""How late the event loop is: what it is asked to do on time, and when it does it."""

from __future__ import annotations

import asyncio
from collections import deque

LOOK_EVERY_S = 0.5
LOOKS_KEPT = 20


class LoopLag:
    """Looks twice a second; remembers the last ten seconds."""

    def __init__(self) -> None:
        self._lags_s: deque[float] = deque(maxlen=LOOKS_KEPT)
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to look."""
        loop = asyncio.get_running_loop()
        due_s = loop.time() + LOOK_EVERY_S
        self._handle = loop.call_at(due_s, self._look, due_s)

    def stop(self) -> None:
        """Look no more."""
        if self._handle is not None:
            self._handle.cancel()

    def largest_s(self) -> float:
        """The largest lag lately."""
        return max(self._lags_s, default=0.0)

    def _look(self, due_s: float) -> None:
        self._lags_s.append(max(0.0, asyncio.get_running_loop().time() - due_s))
        self.start()
