"""Disks that are full or have faults: what is said, what waits, and what heals by itself."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue

import pytest

from meshwright.errors import OperatorError
from meshwright.live.disk.storage import Store
from meshwright.live.processes.local_network import free_ports
from meshwright.live.telemetry.log import Log
from meshwright.protocol.foundation.effects import Write

WAIT_S = 20.0
LIMIT_BYTES = 3_500_000
PAYLOAD = "x" * 20_000


class Told:
    """A store, and what it tells."""

    def __init__(self, folder: Path) -> None:
        self.synced: Queue[int] = Queue()
        self.full: Queue[str | None] = Queue()
        self.failed: Queue[Exception] = Queue()
        self.number = self.synced_last = 0
        self.store = Store(
            folder,
            bytes_max=0,
            synced=self.synced.put,
            full=self.full.put,
            failed=self.failed.put,
        )
        self.store.open()

    def write(self, key: str, value: int | None = 1) -> int:
        self.number += 1
        self.store.write(Write(self.number, {("sequence", key): value}))
        return self.number

    def until_synced(self, number: int) -> None:
        """Wait for a batch, unless the disk is full."""
        deadline_s = time.monotonic() + WAIT_S
        while self.synced_last < number and self.full.empty():
            assert time.monotonic() < deadline_s
            with suppress(Empty):
                self.synced_last = self.synced.get(timeout=0.05)


@contextmanager
def no_file_larger_than(byte_count: int) -> Iterator[None]:
    """No file of this process may grow further: a disk on which nothing is left."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (byte_count, before[1]))
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, former)


@contextmanager
def log_leads_to(device: str, told: Told, folder: Path) -> Iterator[None]:
    """What SQLite writes to its log goes to a device with a fault instead; it was empty before."""
    told.store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    links = {int(one.name): one for one in Path("/proc/self/fd").iterdir()}
    log = str(folder / "broker.sqlite-wal")
    (descriptor,) = (one for one, link in links.items() if _target(link) == log)
    kept, fault = os.dup(descriptor), os.open(device, os.O_RDWR)
    os.dup2(fault, descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(fault)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


def test_a_disk_without_room_heals_by_what_messages_left_free_in_it(tmp_path: Path) -> None:
    told = Told(tmp_path)
    with no_file_larger_than(LIMIT_BYTES):
        keys = [f"{number}{PAYLOAD}" for number in range(LIMIT_BYTES // len(PAYLOAD) + 20)]
        for key in keys:
            last = told.write(key)
            if not told.full.empty():
                break
            told.until_synced(last)
        reason = told.full.get(timeout=WAIT_S)
        assert reason is not None
        for key in keys:
            told.write(key, None)
        # The file is as large as before and nothing larger can be made, but much in it is free.
        assert not (tmp_path / "reserve").exists()
        trouble = reason
        while trouble is not None:
            trouble = told.full.get(timeout=WAIT_S)
        # And it holds: as much again can be written and taken back.
        for key in keys[:40]:
            last = told.write(key)
        told.until_synced(last)
    assert told.failed.empty()
    told.store.close()


def test_a_batch_without_room_waits_until_others_make_some(tmp_path: Path) -> None:
    told = Told(tmp_path)
    keys = [("sequence", f"{number}{PAYLOAD}") for number in range(50)]
    with no_file_larger_than(500_000):
        told.store.write(Write(1, dict.fromkeys(keys, 1)))
        assert told.full.get(timeout=WAIT_S)
        assert told.synced.empty()
        told.store.write(Write(2, dict.fromkeys(keys)))
        assert told.synced.get(timeout=WAIT_S) == 2
    assert told.full.get(timeout=WAIT_S) is None
    told.store.close()


def test_a_broker_without_room_can_still_be_stopped(tmp_path: Path) -> None:
    told = Told(tmp_path)
    with no_file_larger_than(500_000):
        told.store.write(Write(1, {("sequence", f"{one}{PAYLOAD}"): one for one in range(50)}))
        assert told.full.get(timeout=WAIT_S)
        told.store.close()
    assert told.synced.empty()


def test_the_log_of_the_database_is_used_again_where_it_cannot_grow(tmp_path: Path) -> None:
    told = Told(tmp_path)
    with no_file_larger_than(1_000_000):
        for number in range(300):
            last = told.write("same", number)
            last = told.write(f"{number % 5}{PAYLOAD}", number)
        told.until_synced(last)
    assert told.failed.empty()
    told.store.close()


def test_no_room_and_a_fault_are_told_apart_and_both_heal(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.until_synced(told.write("before"))
    with log_leads_to("/dev/full", told, tmp_path):
        last = told.write("waits")
        assert told.full.get(timeout=WAIT_S) == "no room is left on the disk"
        time.sleep(0.3)
        assert told.synced.empty()
    told.until_synced(last)
    assert told.full.get(timeout=WAIT_S) is None
    # Memory of the kernel cannot be written so: an error that is not for want of room.
    read_only = tmp_path / "read only"
    read_only.touch()
    with log_leads_to("/proc/self/oom_score_adj", told, tmp_path):
        last = told.write("waits again")
        reason = told.full.get(timeout=WAIT_S)
        assert reason is not None
        assert reason.startswith("the disk cannot be written (")
    told.until_synced(last)
    assert told.full.get(timeout=WAIT_S) is None
    told.store.close()
    assert told.failed.empty()


def test_a_sync_that_failed_is_never_tried_again(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.until_synced(told.write("before"))
    with log_leads_to("/dev/null", told, tmp_path):
        told.write("unsure")
        error = told.failed.get(timeout=WAIT_S)
    assert isinstance(error, OperatorError)
    assert "the broker's disk could not be synced" in str(error)
    assert told.synced.empty()
    told.store.close()


@pytest.mark.parametrize("byte_count", [30, 400])
def test_lines_for_which_a_log_has_no_room_are_counted(byte_count: int, tmp_path: Path) -> None:
    path = tmp_path / "broker.log"
    log = Log("b0", path)
    with no_file_larger_than(byte_count):
        for number in range(9):
            log.event(0, "happened", number=number)
    log.event(0, "after")
    log.close()
    lines = path.read_text().splitlines()
    last = json.loads(lines[-1])
    whole = [line for line in lines if line.endswith("}")]
    assert last["event"] == "after"
    assert last["left_out"] + len(whole) - 1 == 9


def test_a_broker_whose_disk_fails_ends_with_one_sentence(tmp_path: Path) -> None:
    port = free_ports(2)
    command = [
        sys.executable, "-m", "meshwright", "broker", "--listen", f"127.0.0.1:{port}",
        "--peer-listen", f"127.0.0.1:{port + 1}", "--data", str(tmp_path / "b"),
    ]  # fmt: skip
    script = (
        "import os, sys, threading, time\n"
        "from pathlib import Path\n"
        "def spoil():\n"
        "    while True:\n"
        "        for link in Path('/proc/self/fd').iterdir():\n"
        "            try: target = os.readlink(link)\n"
        "            except OSError: continue\n"
        "            if target.endswith('broker.sqlite-wal') and started.is_set():\n"
        "                os.dup2(os.open('/dev/null', os.O_RDWR), int(link.name)); return\n"
        "        time.sleep(0.05)\n"
        "started = threading.Event()\n"
        "import meshwright.cli.brokers.broker as command\n"
        "import typer\n"
        "say = typer.echo\n"
        "def echo(*words, **options): say(*words, **options); started.set()\n"
        "typer.echo = echo\n"
        "threading.Thread(target=spoil, daemon=True).start()\n"
        "from meshwright.cli.main import run\n"
        "run()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *command[3:]], capture_output=True, text=True,
        timeout=60, check=False, env={**os.environ},
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    said = [line for line in ended.stderr.splitlines() if not line.startswith("{")]
    assert len(said) == 1
    assert "the broker's disk could not be synced" in said[0]
