"""Replays of generated traces as benchmarks run them: in a warm session, each cost by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd
from pyspark.sql import SparkSession

from benchmarks.processes import Cost, costed
from benchmarks.table import Row
from meshwright.lab.replays.reading import read_trace, tables_on_disk
from meshwright.lab.replays.replaying import plain_replay
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.replays.keeping import passing_keeper
from meshwright.pipeline.replays.parameters import (
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.replays.replay import TraceReplay, replay_trace
from meshwright.pipeline.spark.session import open_session

CORES = 2
ARRANGEMENTS = ("chord", "dynatops", "dynatops-greedy", "ssbr-greedy", "lsap")
HOURLY = ReplayParameters(
    time=TimeParameters(slot_s=3600),
    placement=PlacementParameters(methods=("static", "similarity", "similarity-bounded")),
    overlay=OverlayParameters(designs=ARRANGEMENTS),
)
SMALL = PoissonParameters(users=500, brokers=10, topics=50, hours=12.0)


class Measured(NamedTuple):
    """What a replay cost, stage by stage too, and the rows of the trace that went in.

    plain: the same work in one process without Spark, where it was asked for.
    """

    cost: Cost
    stages: dict[str, float]
    row_count: int
    plain: Cost | None

    def told(self) -> str:
        """The dearest stages, and the work without Spark."""
        dear = sorted(self.stages.items(), key=lambda stage: -stage[1])[:5]
        stages = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in dear)
        if self.plain is None:
            return stages
        return (
            f"{stages}; pandas and NumPy in one process {self.plain.elapsed_s:.0f} s, "
            f"{self.plain.cpu_s:.0f} s CPU"
        )


@contextmanager
def warm_session(
    settings: Mapping[str, str] | None = None,
) -> Iterator[tuple[SparkSession, Path]]:
    """A session on two cores and a folder; a small replay has compiled what there is to compile."""
    session = open_session("benchmark", master=f"local[{CORES}]", settings=settings)
    try:
        with TemporaryDirectory(prefix="meshwright-") as folder:
            measured(session, Path(folder), SMALL, HOURLY)
            yield session, Path(folder)
    finally:
        session.stop()


def measured(
    session: SparkSession,
    folder: Path,
    model: PoissonParameters | LocationParameters,
    parameters: ReplayParameters,
    *,
    with_plain: bool = False,
) -> Measured:
    """What it costs from the tables of a generated trace to the comparison."""
    trace = folder / "trace"
    row_count = sum(generate_trace(session, model, trace).values())
    stages: dict[str, float] = {}
    with passing_keeper(session, trace) as keeper:
        keeper.on_stage = lambda name, _, seconds: stages.update({name: seconds})
        cost, replay = costed(lambda: replay_trace(session, trace, parameters, keeper))
        plain = plain_cost(replay, trace) if with_plain else None
    return Measured(cost, stages, row_count, plain)


def plain_cost(replay: TraceReplay, trace: Path) -> Cost:
    """The cost without Spark of a replay with static placement."""
    static = replay.tables["placements"].where("placement = 'static'").toArrow()
    asked = pd.Series(static["broker"].to_pylist(), index=static["client"].to_pylist())
    wish = replay.parameters
    cost, _ = costed(lambda: plain_replay(read_trace(tables_on_disk(trace), wish, asked), wish))
    return cost


def rate_row(
    task: str, row_count: int, cost: Cost, *, target_s: float | None = None, note: str = ""
) -> Row:
    """Elapsed seconds against the target; rows for each second of processor time."""
    return Row(
        task,
        f"{cost.elapsed_s:.1f} s, {cost.cpu_s:.1f} s CPU; "
        f"{row_count / cost.cpu_s:,.0f} rows/s and core",
        "report" if target_s is None else f"{target_s:.0f} s",
        met=None if target_s is None else cost.elapsed_s <= target_s,
        note=note,
    )
