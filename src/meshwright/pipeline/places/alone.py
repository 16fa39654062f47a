"""One run at a time in a folder: the second is told who is there, and nobody waits for the dead.

On this machine the system holds the lock, and drops it with the process. At an address there is no
such system: a file says that the folder is in use, and whoever is in there writes it again every
few seconds. One that stays as it is was left by a run that was killed, and is taken over.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from meshwright.errors import OperatorError
from meshwright.files.writing import make_folder
from meshwright.pipeline.places.hadoop import (
    create_file,
    overwrite_file,
    read_file,
    remove,
    removed_after,
)
from meshwright.pipeline.places.place import Address, Place

IN_USE = "in-use"
RENEWED_EVERY_S = 5.0
DEAD_AFTER_S = 3 * RENEWED_EVERY_S
POLL_S = 0.5


@contextmanager
def alone_in(folder: Place) -> Iterator[bool]:
    """Keep other runs out of a folder until the block ends; refuses if one is in it.

    Yields whether the last run that was in it was killed there, as far as an address can say.
    """
    if isinstance(folder, Address):
        with _leased(folder / IN_USE) as was_left:
            yield was_left
        return
    with _locked(folder):
        yield False


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The system's lock on a file in the folder; the file goes, and a folder made for it alone."""
    is_new = not folder.exists()
    mark = make_folder(folder) / f".{IN_USE}"
    try:
        with mark.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                _refuse(folder, file.read())
            if not _is_at(mark, file.fileno()):  # whoever had it has just removed it
                _refuse(folder, "")
            try:
                file.truncate(0)
                file.write(_whoami())
                file.flush()
                yield
            finally:
                mark.unlink(missing_ok=True)
    finally:
        if is_new:
            with suppress(OSError):  # it has something in it
                folder.rmdir()


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one that has the name."""
    opened = os.fstat(descriptor)
    with suppress(FileNotFoundError):
        named = path.stat()
        return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)
    return False


@contextmanager
def _leased(mark: Address) -> Iterator[bool]:
    own = _whoami()
    was_left = _take(mark, own)
    is_over = threading.Event()

    def renew() -> None:
        number = 0
        while not is_over.wait(RENEWED_EVERY_S):
            number += 1
            try:
                overwrite_file(mark, f"{own}\n{number}".encode())
            except (OperatorError, OSError):
                return  # Java has ended, and with it all that wrote here

    thread = threading.Thread(target=renew, name="folder-in-use", daemon=True)
    thread.start()
    with removed_after(mark):
        try:
            yield was_left
        finally:
            is_over.set()
            thread.join()


def _take(mark: Address, own: str) -> bool:
    """Write the mark; True if it stands for one that nobody renews any more."""
    was_left = False
    seen: bytes | None = None
    seen_at_s = 0.0
    while not create_file(mark, own.encode()):
        found = read_file(mark)
        if seen is None or found is None:
            seen, seen_at_s = found, time.monotonic()
        elif found != seen:
            _refuse(mark.parent, found.decode(errors="replace"))
        elif time.monotonic() - seen_at_s > DEAD_AFTER_S:
            remove(mark)
            was_left = True
        time.sleep(POLL_S)
    if was_left and read_file(mark) != own.encode():  # another run saw the same, and was later
        _refuse(mark.parent, "")
    return was_left


def _refuse(folder: Path | Address, holder: str) -> NoReturn:
    who = holder.strip().splitlines()
    named = f" ({who[0]})" if who else ""
    raise OperatorError(
        f"{folder}: another run is at work in this folder{named}; wait for it, or choose another."
    )


def _whoami() -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()} on {socket.gethostname()}, since {now}"
