"""Ctrl-C while a command works on Spark: it ends in silence, and nothing of it stays."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from waiting import until

from meshwright.pipeline.spark.shipping import PACKAGE

END_S = 60.0
# A shell says 130 of both: our own word, and Python's own end.
STOPPED = (130, -signal.SIGINT)
WORDS = ("trace", "generate", "--model", "poisson", "--users", "2000000", "--out", "trace")

# By what is seen of the process with a number and a mark: a library that our code loads, Java that
# starts, and the first of the files in the middle of the work.
MOMENTS: dict[str, Callable[[int, str, Path], bool]] = {
    "loading": lambda number, _, __: "_datetime" in Path(f"/proc/{number}/maps").read_text(),
    "starting": lambda _, mark, __: any("/java " in command for command in marked(mark)),
    "working": lambda _, __, folder: bool(list(folder.glob(".trace.aside/*"))),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_who_stops_a_command_on_spark_sees_nothing_more_of_it(moment: str, tmp_path: Path) -> None:
    with started(WORDS, tmp_path) as (process, mark):
        until(lambda: MOMENTS[moment](process.pid, mark, tmp_path))
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=END_S) == ("", "")
        assert process.returncode in STOPPED
        until(lambda: not marked(mark))


def reads_checkins(number: int) -> bool:
    """Whether a process has the file open."""
    files = Path(f"/proc/{number}/fd").glob("*")
    return any(os.path.realpath(file).endswith("checkins.csv") for file in files)


# Python workers count rows for Spark, on a connection that Java may leave.
IMPORTING: dict[str, Callable[[int, str, Path], bool]] = {
    "on Spark": lambda _, mark, __: any("worker_daemon" in command for command in marked(mark)),
    "reading": lambda number, _, __: reads_checkins(number),
    "writing": lambda _, __, folder: (folder / ".trace.aside").exists(),
}


@pytest.fixture(scope="module")
def checkins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many rows that an import takes seconds."""
    path = tmp_path_factory.mktemp("import") / "checkins.csv"
    rows = "".join(
        f"u{row % 999},2010-08-{1 + row % 28:02d}T00:{row % 60:02d}:00Z,{row % 90}.5,{row % 9},v\n"
        for row in range(1_000_000)
    )
    path.write_text(f"user_id,ts_utc,lat,lon,venue_id\n{rows}")
    return path


@pytest.mark.parametrize(
    ("moment", "later_s"),
    [("on Spark", 0.0), ("on Spark", 1.5), ("reading", 0.0), ("reading", 0.7), ("writing", 0.0)],
)
def test_who_stops_an_import_sees_nothing_more_of_it(
    moment: str, later_s: float, checkins: Path, tmp_path: Path
) -> None:
    (tmp_path / "checkins.csv").hardlink_to(checkins)
    master = ("--master", "local[2]") if moment == "on Spark" else ()
    words = ("trace", "import", "--format", "gowalla", "checkins.csv", "--out", "trace", *master)
    with started(words, tmp_path) as (process, mark):
        until(lambda: IMPORTING[moment](process.pid, mark, tmp_path))
        time.sleep(later_s)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=END_S) == ("", "")
        assert process.returncode in STOPPED
        until(lambda: not marked(mark))


def test_a_command_loads_nothing_before_it_can_be_stopped() -> None:
    command = "import sys; before = {*sys.modules}; import meshwright.__main__; "
    command += "print({*sys.modules} - before - {'__future__'})"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", command], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )  # fmt: skip
    assert ast.literal_eval(ended.stdout) == {"meshwright", "meshwright.__main__"}


def test_who_stops_experiments_hears_how_they_go_on(tmp_path: Path) -> None:
    with started(("lab", "run", "ktco", "--out", "out"), tmp_path) as (process, mark):
        until(lambda: MOMENTS["starting"](process.pid, mark, tmp_path))
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=END_S)
        assert told.endswith("\nStopped; the same command goes on where it was.\n")
        assert process.returncode == STOPPED[0]


def test_who_stops_long_tasks_twice_at_once_waits_for_none_of_them(tmp_path: Path) -> None:
    words = ("lab", "run", "dynatops-location", "--scale", "paper", "--out", "out")
    with started(words, tmp_path) as (process, mark):
        until(lambda: sum("worker_daemon" in command for command in marked(mark)) >= 2)
        process.terminate()
        time.sleep(0.002)  # long enough to be two, as `timeout` ends a process and its group
        process.terminate()
        _, told = process.communicate(timeout=END_S)
        assert told.endswith("\nStopped; the same command goes on where it was.\n")
        assert process.returncode == STOPPED[0]
        until(lambda: not marked(mark))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_a_swarm_ends_all_its_processes(number: int, tmp_path: Path) -> None:
    words = ("swarm", "--designs", "chord", "--seeds", "1..100000")
    with started(words, tmp_path) as (process, mark):
        until(lambda: sum("spawn_main" in command for command in marked(mark)) >= 2)
        os.killpg(process.pid, number)
        time.sleep(0.002)
        process.send_signal(number)
        _, told = process.communicate(timeout=END_S)
        assert told == ""
        # The second may come when Python, about to end, hears signals no more.
        assert process.returncode in (STOPPED[0], -number)
        until(lambda: not marked(mark))


@pytest.mark.parametrize("slow_s", [0.0, 0.1])
def test_an_interruption_that_python_drops_comes_again(slow_s: float) -> None:
    command = f"""
import threading, time
from meshwright import __main__
from meshwright.cli import main

class Fleeting:
    def __del__(self):
        raise KeyboardInterrupt

start = threading.Thread.start

def start_on_a_busy_machine(thread):
    start(thread)
    time.sleep({slow_s})

threading.Thread.start = start_on_a_busy_machine

def run():
    Fleeting()
    time.sleep(60)

main.run = run
__main__.run()
"""
    ended = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, timeout=END_S, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@contextmanager
def started(words: Sequence[str], folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command in a group of its own, and the mark that all it starts has, too."""
    mark = uuid4().hex
    with subprocess.Popen(
        [sys.executable, "-m", "meshwright", *words],
        cwd=folder,
        env={**os.environ, "MARK": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process, mark
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


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
