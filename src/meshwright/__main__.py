"""`python -m meshwright` is the command `meshwright`.

It loads nothing outside of `run`: what takes a moment to load can be interrupted there.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a shell says of a command that was stopped by Ctrl-C.
STOPPED = 130
# For Python to leave the callback in which it dropped an interruption.
AGAIN_S = 0.01


def run() -> None:
    """Entry point of the installed command; silent also if it is stopped while it is loaded."""
    try:
        sys.unraisablehook = _interrupt_again
        import signal

        # Whatever ends a command, what it has started ends with it.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from meshwright.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(STOPPED)


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
        os.kill(os.getpid(), signal.SIGINT)

    after_s = AGAIN_S
    while True:
        try:
            threading.Thread(target=interrupt, args=(after_s,), daemon=True).start()
        except KeyboardInterrupt:  # on a busy machine it came before this was left
            after_s *= 2
        else:
            return


if __name__ == "__main__":
    run()
