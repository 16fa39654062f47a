"""The jobs that must give the same wherever they run; a program of its own, for it is a driver.

python cluster_jobs.py FOLDER ADDRESS...: FOLDER/<number>.json for each address in turn. On one core
tables are in the folder. Elsewhere they are at the address viewfs://far/d, a mount of it, which
only Spark's file systems can read; over Connect a trace is written to the folder all the same.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession
from standalone_cluster import mounted

from meshwright.cli.experiments.simulate import simulated_seed
from meshwright.model.plan import Plan
from meshwright.pipeline.generators.parameters import LocationParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.places.place import Address, Place
from meshwright.pipeline.replays.keeping import Keeper
from meshwright.pipeline.replays.parameters import (
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.replays.replay import replay_trace
from meshwright.pipeline.replays.snapshots import Moment, TraceMoment
from meshwright.pipeline.spark.session import open_session
from meshwright.pipeline.sweep import TaskGrid, sweep
from meshwright.planning.changes.clients import plan_with_clients
from meshwright.planning.changes.network import PlanWish
from meshwright.sim.scenario.parameters import SimulationParameters
from quick_spark import QUICK_JAVA, QUICK_QUERIES

SETTINGS = {
    **QUICK_QUERIES,
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.executor.memory": "512m",
}
TINY = SimulationParameters(design="tree", brokers=2, clients=3, duration_s=1.0)
GENERATED = LocationParameters(users=60, rows=2, columns=4, days=6.0, publications_per_hour=0.2)
REPLAY = ReplayParameters(
    time=TimeParameters(slot_s=12 * 3600, epoch_slots=4),
    placement=PlacementParameters(cluster_size=4, methods=("static", "similarity-bounded")),
    overlay=OverlayParameters(designs=("dynatops", "gm")),
)
FAR = Address("viewfs://far/d")
GRID = TaskGrid({"weight": [1, 2]}, range(5))


def main(folder: Path, addresses: list[str]) -> None:
    """Do all jobs at every address and write down what came of them."""
    for number, address in enumerate(addresses):
        session = _session(address, folder)
        places, name = folder / f"{number}.places", f"{number}.trace"
        places.mkdir()
        root: Place = folder if address.startswith("local") else FAR
        trace = root / name
        written = folder / name if address.startswith("sc://") else trace
        outcome = {
            "swept": [value for _, value in sweep(session, partial(multiplied, places), GRID)],
            "simulated": [
                value
                for _, value in sweep(session, partial(simulated_seed, TINY), TaskGrid({}, [1, 2]))
            ],
            "generated": generate_trace(session, GENERATED, written),
            "plan": msgspec.to_builtins(_planned(session, trace)),
            "replayed": _replayed(session, trace, root / f"{number}.kept"),
        }
        (folder / f"{number}.json").write_text(json.dumps(outcome, sort_keys=True))
        session.stop()


def multiplied(places: Path, weight: int, seed: int) -> dict[str, Any]:
    """A task that says where it finds our package."""
    (places / f"{weight}-{seed}").write_text(sweep.__code__.co_filename)
    return {"product": weight * seed, "third": weight * seed / 3}


def _replayed(session: SparkSession, trace: Place, kept: Place) -> dict[str, Any]:
    """Every number of a replay; the folder shows how far it is."""
    tables = replay_trace(session, trace, REPLAY, Keeper(session, kept)).tables
    return {
        name: sorted(list(row) for row in tables[name].collect())
        for name in ("metrics", "comparison")
    }


def _session(address: str, folder: Path) -> SparkSession:
    if address.startswith("sc://"):
        return open_session("cluster jobs", remote=address)
    return open_session("cluster jobs", master=address, settings=SETTINGS | mounted(folder))


def _planned(session: SparkSession, trace: Place) -> Plan:
    state = TraceMoment(session, trace, Moment(horizon_s=18_000.0))
    snapshot = state.snapshot()
    population = state.population(snapshot, cluster_size=4)
    wish = PlanWish("dynatops", objective="cost")  # so few people pay for no move
    return plan_with_clients(snapshot, wish, population, "similarity-bounded")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
