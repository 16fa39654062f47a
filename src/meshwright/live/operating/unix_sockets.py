"""Sockets that are files, for this machine's owner of them only."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshwright.errors import OperatorError

# Where a broker takes orders, in its own folder.
SOCKET_NAME = "control.sock"
# What the kernel takes, without the zero at the end.
PATH_BYTES_MAX = 107


def listening_socket(path: Path) -> socket.socket:
    """A socket at a path, in place of what a broker that ended left there."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        with _short(path) as name:
            former = os.umask(0o177)
            try:
                listening.bind(name)
            finally:
                os.umask(former)
        listening.listen()
    except OSError as error:
        listening.close()
        raise OperatorError(
            f"{path}: operators' socket cannot be made ({error}); choose another folder."
        ) from error
    listening.setblocking(False)
    return listening


def connected_socket(path: Path, timeout_s: float) -> socket.socket:
    """A connection with who listens at a path."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(timeout_s)
    try:
        with _short(path) as name:
            connected.connect(name)
    except OSError:
        connected.close()
        raise
    return connected


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name of the path that the kernel takes: a long one goes through its open folder."""
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
