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
from cluster_jobs import GRID
from standalone_cluster import PATIENCE_S, POLL_S, connect_server, standalone_cluster

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

    One driver does both, as most of its time goes into what it does for the first time.
    """
    folder = tmp_path_factory.mktemp("done")
    replayed = folder / "1.kept"
    with (
        standalone_cluster(folder, worker_count=2) as (master, spark),
        driver(folder, "local[1]", master) as process,
    ):
        while process.poll() is None and not list(replayed.glob("placements-*")):
            time.sleep(POLL_S)
        spark.kill("worker-1")
        assert not list(replayed.glob("overlays-*"))
    return folder


def test_the_jobs_do_what_they_are_here_for(done: Path) -> None:
    outcome = json.loads((done / "0.json").read_text())
    assert [value["product"] for value in outcome["swept"][-3:]] == [4, 6, 8]
    assert all(result["totals"]["delivered"] > 0 for result in outcome["simulated"])
    assert outcome["generated"]["positions"] > 100
    assert {step["action"] for step in outcome["plan"]["steps"]} >= {"move_client"}
    assert len(outcome["replayed"]["comparison"]) == 2 * 2
    assert len(outcome["replayed"]["metrics"]) > 4 * 4


def test_a_cluster_that_loses_a_worker_gives_the_same_from_the_package_that_is_sent_to_it(
    done: Path,
) -> None:
    assert (done / "1.json").read_text() == (done / "0.json").read_text()
    places = [path.read_text() for path in (done / "1.places").iterdir()]
    assert len(places) == len(GRID)
    assert all("meshwright.zip" in place for place in places)


def test_a_connect_server_of_two_cores_gives_what_one_core_gives(
    done: Path, tmp_path: Path
) -> None:
    with connect_server(tmp_path) as remote, driver(tmp_path, remote):
        pass
    assert (tmp_path / "0.json").read_text() == (done / "0.json").read_text()
