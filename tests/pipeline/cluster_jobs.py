"""The jobs that must give the same wherever they run; a program of its own, for it is a driver.

python cluster_jobs.py FOLDER ADDRESS...: FOLDER/<number>.json for each address in turn.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from meshwright.cli.simulate import simulated_seed
from meshwright.model.plan import Plan
from meshwright.model.schema import POSITIONS
from meshwright.pipeline.frames import literal_frame
from meshwright.pipeline.generators.parameters import PoissonParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.session import open_session
from meshwright.pipeline.snapshots import Moment, TraceMoment
from meshwright.pipeline.stages.visits import cells, user_cells, visits
from meshwright.pipeline.sweep import TaskGrid, sweep
from meshwright.planning.changes.clients import plan_with_clients
from meshwright.planning.changes.network import PlanWish
from meshwright.sim.parameters import SimulationParameters

SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "4",
}
TINY = SimulationParameters(design="tree", brokers=2, clients=3, duration_s=1.0)
GENERATED = PoissonParameters(
    users=60, brokers=8, topics=20, topics_per_user=3, hours=10.0, publications_per_hour=40.0
)
TASK_S = 0.1
GRID = TaskGrid({"weight": [1, 2]}, range(20))


def main(folder: Path, addresses: list[str]) -> None:
    """Do all jobs at every address and write down what came of them."""
    for number, address in enumerate(addresses):
        session = _session(address)
        started = folder / f"{number}.started"
        started.mkdir()
        outcome = {
            "slow": [value for _, value in sweep(session, partial(slow, str(started)), GRID)],
            "simulated": [
                value
                for _, value in sweep(session, partial(simulated_seed, TINY), TaskGrid({}, [1, 2]))
            ],
            "visited": _visited(session),
            "generated": generate_trace(session, GENERATED, folder / f"{number}.trace"),
            "plan": msgspec.to_builtins(_planned(session, folder / f"{number}.trace")),
        }
        (folder / f"{number}.json").write_text(json.dumps(outcome, sort_keys=True))
        session.stop()


def slow(started: str, weight: int, seed: int) -> dict[str, Any]:
    """A task that says where it began, and takes a while."""
    (Path(started) / f"{weight}-{seed}").write_text(sweep.__code__.co_filename)
    time.sleep(TASK_S)
    return {"product": weight * seed, "third": weight * seed / 3}


def _session(address: str) -> SparkSession:
    if address.startswith("sc://"):
        return open_session("cluster jobs", remote=address)
    return open_session("cluster jobs", master=address, settings=SETTINGS)


def _planned(session: SparkSession, trace: Path) -> Plan:
    state = TraceMoment(session, trace, Moment(horizon_s=18_000.0))
    snapshot = state.snapshot()
    population = state.population(snapshot, cluster_size=4)
    return plan_with_clients(snapshot, PlanWish("dynatops"), population, "similarity-bounded")


def _visited(session: SparkSession) -> list[Any]:
    begin = datetime(2010, 8, 1, tzinfo=UTC)
    rows = [
        (begin + timedelta(hours=7 * n), f"u{n % 5}", 10.0 + n * 37 % 11 / 4, 20.0 + n % 3, None)
        for n in range(300)
    ]
    found = user_cells(visits(cells(literal_frame(session, POSITIONS, rows), 1.0)))
    return sorted(list(row) for row in found.collect())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
