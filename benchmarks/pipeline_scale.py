"""Replays of 10,000 to 1,000,000 users: 100,000 topics, 400 brokers, 15 designs, two cores.

The largest takes half an hour: `USERS=1000000 SPARK_DRIVER_MEMORY=8g python -m benchmarks
pipeline_scale`. USERS names one or more numbers with commas; each is compared with the one before,
and told as soon as it is known. Without, the two smaller ones are measured. Up to a size, the same
is done without Spark by pandas and NumPy.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.processes import memory_mb
from benchmarks.replays import CORES, Measured, measured
from benchmarks.table import Row
from meshwright.pipeline.generators.parameters import PoissonParameters
from meshwright.pipeline.replays.parameters import (
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.spark.session import open_session

SIZES = tuple(int(part) for part in os.environ.get("USERS", "10000,100000").split(","))
PLAIN_USERS_MAX = 100_000
BROKERS, TOPICS = 400, 100_000
HOURS, SLOT_HOURS, EPOCH_SLOTS = 12.0, 3, 2
GROWTH_MAX = 11.0
DESIGNS = (
    "chord", "dynatops", "tapestry", "pastry", "quadtree", "hypercube", "gm", "gm2", "harary",
    "cycle", "dcbm", "minmax", "best", "tree", "hierarchy",
)  # fmt: skip
WISH = ReplayParameters(
    time=TimeParameters(slot_s=SLOT_HOURS * 3600, epoch_slots=EPOCH_SLOTS),
    placement=PlacementParameters(methods=("static", "similarity-bounded")),
    overlay=OverlayParameters(designs=DESIGNS),
)


class Scaled(NamedTuple):
    """What a replay cost; shuffled_mb: written to be read by other tasks, in all.

    driver_mb: the most that the driver's Python held. all_mb: the most that all processes held.
    """

    users: int
    measured: Measured
    shuffled_mb: float
    driver_mb: float
    all_mb: float


def rows() -> list[Row]:
    found: list[Scaled] = []
    lines: list[Row] = []
    for users in SIZES:
        found.append(_scaled(users))
        lines.append(_row(found[-1], found[-2] if len(found) > 1 else None))
        print(f"{lines[-1].task}: {lines[-1].measured}; {lines[-1].note}", file=sys.stderr)
    return lines


def _scaled(users: int) -> Scaled:
    """A replay in a session of its own."""
    model = PoissonParameters(
        users=users, topics=TOPICS, brokers=BROKERS, hours=HOURS, publications_per_hour=0.25
    )
    with TemporaryDirectory(prefix="meshwright-") as name:
        folder = Path(name)
        events = folder / "events"
        events.mkdir()
        settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": events.as_uri(),
        }
        session = open_session("benchmark", master=f"local[{CORES}]", settings=settings)
        with _watched_memory() as peaks:
            is_small = users <= PLAIN_USERS_MAX
            found = measured(session, folder, model, WISH, with_plain=is_small)
        session.stop()
        return Scaled(users, found, _shuffled_mb(events), *peaks)


def _row(one: Scaled, before: Scaled | None) -> Row:
    cost = one.measured.cost
    growth = None if before is None else cost.cpu_s / before.measured.cost.cpu_s
    return Row(
        f"replay of {one.users:,} users, {TOPICS:,} topics, {BROKERS} brokers, "
        f"{len(DESIGNS)} designs, 2 placements",
        f"{cost.cpu_s:,.0f} s CPU"
        + ("" if growth is None else f", {growth:.1f}x that of {before.users:,}"),
        "report" if growth is None else f"<= {GROWTH_MAX:g}x",
        met=None if growth is None else growth <= GROWTH_MAX,
        note=f"{one.shuffled_mb:,.0f} MB shuffled, the driver's Python at most "
        f"{one.driver_mb:,.0f} MB, all processes {one.all_mb:,.0f} MB; {one.measured.told()}",
    )


@contextmanager
def _watched_memory() -> Iterator[list[float]]:
    """The most that this process and all of its tree held while the block ran, looked at often."""
    peaks, is_over = [0.0, 0.0], threading.Event()

    def watch() -> None:
        while not is_over.wait(1.0):
            own, every = memory_mb()
            peaks[:] = [max(peaks[0], own), max(peaks[1], every)]

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield peaks
    finally:
        is_over.set()
        watching.join()


def _shuffled_mb(events: Path) -> float:
    """By Spark's own log of what tasks wrote."""
    total = 0
    for log in events.rglob("*"):
        if not log.is_file() or log.name.startswith("."):
            continue
        with log.open() as lines:
            for line in lines:
                if '"Shuffle Bytes Written"' in line:
                    told = json.loads(line).get("Task Metrics") or {}
                    total += told.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total / 2**20
