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

pytestmark = pytest.mark.xdist_group("cluster")


@contextmanager
def driver(folder: Path, *masters: str) -> Iterator[subprocess.Popen[bytes]]:
    """The jobs in a process of their own; it has succeeded when the block ends."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (folder / "driver.log").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, str(JOBS), str(folder), *masters],
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


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the jobs give on one core of this machine, which is what they give on two."""
    folder = tmp_path_factory.mktemp("here")
    with driver(folder, "local[1]", "local[2]"):
        pass
    one, two = ((folder / f"{number}.json").read_text() for number in range(2))
    assert one == two
    outcome = json.loads(one)
    assert [value["product"] for value in outcome["slow"][-3:]] == [34, 36, 38]
    assert all(result["totals"]["delivered"] > 0 for result in outcome["simulated"])
    assert len(outcome["visited"]) > 20
    assert outcome["generated"]["subscriptions"] > 100
    assert {step["action"] for step in outcome["plan"]["steps"]} >= {"move_client"}
    return one


def test_a_cluster_gives_the_same_also_if_it_loses_a_worker_in_the_middle(
    expected: str, tmp_path: Path
) -> None:
    began = tmp_path / "1.started"
    with (
        standalone_cluster(tmp_path, worker_count=2) as (master, spark),
        driver(tmp_path, master, master) as process,
    ):
        while process.poll() is None and len(list(began.glob("*"))) < 10:
            time.sleep(POLL_S)
        spark.kill("worker-1")
        assert len(list(began.iterdir())) < len(GRID)
    assert [(tmp_path / f"{number}.json").read_text() for number in range(2)] == [expected] * 2
    places = {path.read_text() for path in (tmp_path / "0.started").iterdir()}
    assert all("meshwright.zip" in place for place in places)


def test_a_connect_server_gives_the_same(expected: str, tmp_path: Path) -> None:
    with connect_server(tmp_path) as remote, driver(tmp_path, remote):
        pass
    assert (tmp_path / "0.json").read_text() == expected
