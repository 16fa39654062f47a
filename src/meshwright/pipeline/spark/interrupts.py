"""Ctrl-C that waits for its moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Have Ctrl-C wait for the end of the block.

    For a second or two in which nobody could obey: of Java that is half started nobody has a hold,
    and libraries that are imported take the interruption for a fault of a part they can do without.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt
