"""Ctrl-C while a command works on Spark: it ends in silence, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

END_S = 60.0
# While Python loads, while Java starts, and in the middle of the work.
MOMENTS_S = (0.5, 3.0, 14.0)
# A shell says 130 of both: ours, and Python's own end if it has not yet begun to read our code.
STOPPED = (130, -signal.SIGINT)


@pytest.mark.parametrize("moment_s", MOMENTS_S)
def test_who_stops_a_command_on_spark_sees_nothing_more_of_it(
    moment_s: float, tmp_path: Path
) -> None:
    mark = uuid4().hex
    words = ("trace", "generate", "--model", "poisson", "--users", "2000000", "--out", "trace")
    process = subprocess.Popen(
        [sys.executable, "-m", "meshwright", *words],
        cwd=tmp_path,
        env={**os.environ, "MARK": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(moment_s)
    os.killpg(process.pid, signal.SIGINT)
    printed = process.communicate(timeout=END_S)
    assert printed == ("", "")
    assert process.returncode in STOPPED
    deadline_s = time.monotonic() + END_S
    while marked(mark):
        assert time.monotonic() < deadline_s, marked(mark)
        time.sleep(0.1)


def marked(mark: str) -> list[str]:
    """Processes that have the mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " ")[:200])
        except OSError:
            continue  # it has ended, or is somebody else's
    return found
