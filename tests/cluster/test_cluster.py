from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cluster_jobs import FAR, GRID, SETTINGS
from standalone_cluster import PATIENCE_S, POLL_S, connect_server, mounted, standalone_cluster
from tests.pipeline.small_telemetry import record_hours

JOBS = Path(__file__).parent / "cluster_jobs.py"


@contextmanager
def driver(folder: Path, *addresses: str) -> Iterator[subprocess.Popen[bytes]]:
    """The jobs in a process of their own; it has succeeded when the block ends."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (folder / "driver.log").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, str(JOBS), str(folder), *addresses],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield process
            code = process.wait(timeout=PATIENCE_S)
            log.seek(0)
            assert code == 0, log.read()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the jobs are done: 0 on one core, 1 on a cluster that loses a worker in the last job.

    One driver does both, as most of its time goes into what it does for the first time. Then the
    worker that is left does a command.
    """
    folder = tmp_path_factory.mktemp("done")
    replayed = folder / "1.kept"
    with standalone_cluster(folder, worker_count=2) as (master, spark):
        with driver(folder, "local[1]", master) as process:
            while process.poll() is None and not list(replayed.glob("placements-*")):
                time.sleep(POLL_S)
            spark.kill("worker-1")
            assert not list(replayed.glob("overlays-*"))
        compared = compare(master, folder)
    assert compared.returncode == 0, compared.stderr
    (folder / "compared.json").write_text(compared.stdout)
    (folder / "compared.log").write_text(compared.stderr)
    return folder


def compare(master: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command, on a trace at an address, with its findings beside it."""
    settings = SETTINGS | mounted(folder)
    return subprocess.run(
        [
            *(sys.executable, "-m", "meshwright", "compare", str(FAR / "1.trace")),
            *("--designs", "chord,gm", "--placements", "static", "--slot", "12h", "--json"),
            *("--out", str(FAR / "found"), "--master", master, "--memory", "600m", "--ui"),
            *(word for setting in settings.items() for word in ("--conf", "=".join(setting))),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_jobs_do_what_they_are_here_for(done: Path) -> None:
    outcome = json.loads((done / "0.json").read_text())
    assert [value["product"] for value in outcome["swept"][-3:]] == [4, 6, 8]
    assert all(result["totals"]["delivered"] > 0 for result in outcome["simulated"])
    assert outcome["generated"]["positions"] > 100
    assert {step["action"] for step in outcome["plan"]["steps"]} >= {"move_client"}
    # Beside two placements and two designs: clients where they are, a mesh and a star.
    assert len(outcome["replayed"]["comparison"]) == 3 * 4
    assert len(outcome["replayed"]["metrics"]) > 4 * 4


def test_a_cluster_that_loses_a_worker_gives_the_same_from_the_package_that_is_sent_to_it(
    done: Path,
) -> None:
    assert (done / "1.json").read_text() == (done / "0.json").read_text()
    places = [path.read_text() for path in (done / "1.places").iterdir()]
    assert len(places) == len(GRID)
    assert all("meshwright.zip" in place for place in places)


def test_a_command_on_a_cluster_reads_and_writes_at_an_address_and_says_where_the_ui_is(
    done: Path,
) -> None:
    compared = json.loads((done / "compared.json").read_text())
    assert {row["design"] for row in compared["comparison"]} >= {"chord", "gm"}
    assert compared["files"]["report"] == str(FAR / "found" / "report.html")
    assert "<html" in (done / "found" / "report.html").read_text()
    found = {path.name for path in (done / "found").iterdir() if path.suffix != ".crc"}
    assert found == {"report.html", "comparison.csv", "README.md"}
    assert not list(done.glob("_replay-*"))
    assert (done / "compared.log").read_text().startswith("Spark's web UI while it works: http")


def test_a_connect_server_of_two_cores_gives_what_one_core_gives(
    done: Path, tmp_path: Path
) -> None:
    with connect_server(tmp_path) as remote, driver(tmp_path, remote):
        pass
    assert (tmp_path / "0.json").read_text() == (done / "0.json").read_text()


def test_telemetry_is_watched_over_connect_as_on_this_machine(tmp_path: Path) -> None:
    record_hours(tmp_path / "telemetry", 0, 7)

    def plans(name: str, *more: str) -> list[bytes]:
        words = ("--design", "gm", "--t-free", "3h", "--slot", "1h", "--once")
        watched = subprocess.run(
            [sys.executable, "-m", "meshwright", "pipeline", "watch", "telemetry", *words, *more,
             "--out", name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )  # fmt: skip
        assert watched.returncode == 0, watched.stderr
        return [path.read_bytes() for path in sorted((tmp_path / name).glob("plan-*.json"))]

    here = plans("here")
    assert here
    with connect_server(tmp_path) as remote:
        assert plans("there", "--remote", remote) == here
