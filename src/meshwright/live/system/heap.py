"""Memory that was freed: given back to the system, which the C library does not do by itself."""

from __future__ import annotations

import ctypes

GIVE_BACK_AFTER_S = 1.0


def give_back() -> None:
    """Let the system have what is free, where the C library can; costs milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
