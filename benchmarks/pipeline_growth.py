"""Ten times the users: how the time of a replay and the driver's memory grow."""

from __future__ import annotations

import gc
import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.replays import HOURLY, Measured, measured, warm_session
from benchmarks.table import Row
from meshwright.pipeline.generators.parameters import PoissonParameters

USERS, TIMES = 10_000, 10
HOURS = 20.0
GROWTH_MAX = 11.0
MEMORY_GROWTH_MAX = 1.1
COLLECTION_S = 30
FULL_COLLECTION = re.compile(r"Pause Full \(System.gc\(\)\) \d+M->(\d+)M")


class DriverMemory(NamedTuple):
    """What the driver's Python and its Java hold when nothing runs, in MB."""

    python: int
    java: int

    def told(self) -> str:
        return f"Python {self.python} MB, Java {self.java} MB"


def rows() -> list[Row]:
    with TemporaryDirectory(prefix="meshwright-") as name:
        log = Path(name) / "collections"
        settings = {
            "spark.driver.extraJavaOptions": f"-Xlog:gc:file={log}",
            "spark.cleaner.periodicGC.interval": f"{COLLECTION_S}s",
        }
        with warm_session(settings) as (session, folder):
            (once, once_memory), (tenfold, tenfold_memory) = (
                _grown(session, folder, users, log) for users in (USERS, TIMES * USERS)
            )
    growth = tenfold.cost.elapsed_s / once.cost.elapsed_s
    flat = [
        after <= MEMORY_GROWTH_MAX * before
        for before, after in zip(once_memory, tenfold_memory, strict=True)
    ]
    return [
        Row(
            f"replay of {TIMES} times the users ({USERS:,} to {TIMES * USERS:,}), {HOURS:.0f} h",
            f"{growth:.1f}x the time",
            f"<= {GROWTH_MAX:g}x",
            met=growth <= GROWTH_MAX,
            note=f"{once.cost.elapsed_s:.0f} s to {tenfold.cost.elapsed_s:.0f} s; CPU "
            f"{once.cost.cpu_s:.0f} s to {tenfold.cost.cpu_s:.0f} s",
        ),
        Row(
            "the same: what the driver holds afterwards",
            tenfold_memory.told(),
            f"<= {MEMORY_GROWTH_MAX:g}x",
            met=all(flat),
            note=f"with the fewer users {once_memory.told()}; Java's heap after a collection",
        ),
    ]


def _grown(
    session: SparkSession, folder: Path, users: int, log: Path
) -> tuple[Measured, DriverMemory]:
    model = PoissonParameters(
        users=users, hours=HOURS, pattern="multimodal", publications_per_hour=1.0
    )
    return measured(session, folder, model, HOURLY), _driver_memory(log)


def _driver_memory(log: Path) -> DriverMemory:
    """After both have thrown away what nobody needs; Java does so by the clock and says it."""
    assert log.exists(), "Java was started by another benchmark; run this one alone"
    seen = len(FULL_COLLECTION.findall(log.read_text()))
    deadline_s = time.monotonic() + 4 * COLLECTION_S
    while len(left := FULL_COLLECTION.findall(log.read_text())) <= seen:
        assert time.monotonic() < deadline_s, "Java does not say what it holds"
        time.sleep(1.0)
    gc.collect()
    held = Path("/proc/self/status").read_text().partition("VmRSS:")[2]
    return DriverMemory(int(held.split()[0]) // 1024, int(left[-1]))
