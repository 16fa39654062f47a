"""The command `meshwright up` in a process of its own, and what it prints."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshwright.live.processes.local_network import free_ports

WAIT_S = 60.0


class Printed:
    """What a process prints, line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.seen: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, args=(process,))
        self.reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._lines.put(line.rstrip())

    def until(self, part: str) -> str:
        """The next line that has this in it."""
        while True:
            try:
                line = self._lines.get(timeout=WAIT_S)
            except queue.Empty:
                raise AssertionError(f"never said {part!r}, but {self.seen}") from None
            self.seen.append(line)
            if part in line:
                return line


@contextmanager
def up(
    folder: Path, *words: str | int | Path, has_ports: bool = False
) -> Iterator[tuple[subprocess.Popen[str], Printed]]:
    """has_ports: the folder's network was started before, so that its ports need no saying."""
    port = free_ports(8)
    ports = () if has_ports else ("--port", str(port), "--peer-port", str(port + 4))
    process = subprocess.Popen(
        [sys.executable, "-m", "meshwright", "up", "--data", str(folder), *ports, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    printed = Printed(process)
    try:
        yield process, printed
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_S)
        printed.reader.join()
