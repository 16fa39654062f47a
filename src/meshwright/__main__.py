"""`python -m meshwright` is the command `meshwright`.

It loads nothing outside of `run`: what takes a moment to load can be interrupted there.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

# What a shell says of a command that was stopped by Ctrl-C.
STOPPED = 130
# For Python to leave the callback in which it dropped an interruption.
AGAIN_S = 0.01
# What comes twice is often meant once: `timeout` tells a process, then all of its group.
ONCE_S = 1.0

_heard_at_s: list[float] = []  # of the last interruption that was raised


def run() -> None:
    """Entry point of the installed command; silent also if it is stopped while it is loaded."""
    try:
        sys.unraisablehook = _interrupt_again
        import signal

        # Whatever ends a command, what it has started ends with it.
        signal.signal(signal.SIGTERM, _interrupt)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, _interrupt)
        from meshwright.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(STOPPED)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Raise what ends a command; not a second time while it ends what it has started."""
    import time

    now_s = time.monotonic()
    if not _heard_at_s or now_s - _heard_at_s[-1] >= ONCE_S:
        _heard_at_s[:] = [now_s]
        raise KeyboardInterrupt


def _interrupt_again(dropped: Any) -> None:
    """Python drops what is raised in callbacks that it makes itself, Ctrl-C too: it comes again."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    import os
    import signal
    import threading
    import time

    def interrupt(after_s: float) -> None:
        time.sleep(after_s)
        os.kill(os.getpid(), signal.SIGTERM)  # SIGINT may be ignored

    after_s = AGAIN_S
    while True:
        _heard_at_s.clear()
        try:
            threading.Thread(target=interrupt, args=(after_s,), daemon=True).start()
        except KeyboardInterrupt:  # on a busy machine it came before this was left
            after_s *= 2
        else:
            return


if __name__ == "__main__":
    run()
