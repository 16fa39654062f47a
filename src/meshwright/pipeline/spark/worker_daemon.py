"""Spark's daemon that forks Python workers, silent of those that Spark has given up.

When a task fails, Spark no longer listens to the workers of the others, and each would write a
traceback of its broken pipe before the one sentence that says what failed.
"""

from __future__ import annotations

import socket

from pyspark import daemon

GIVEN_UP = 1
spark_worker = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """Run a worker's tasks; what it ends with."""
    try:
        return spark_worker(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return GIVEN_UP


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
