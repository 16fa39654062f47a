"""`python -m meshwright` is the command `meshwright`."""

from __future__ import annotations

import sys

# What a shell says of a command that was stopped by Ctrl-C.
STOPPED = 130


def run() -> None:
    """Entry point of the installed command; silent also if it is stopped while it is loaded."""
    try:
        from meshwright.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(STOPPED)


if __name__ == "__main__":
    run()
