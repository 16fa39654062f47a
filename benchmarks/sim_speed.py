"""How many messages between brokers one core simulates in a second of its own time."""

from __future__ import annotations

import time

from benchmarks.table import Row
from meshwright.sim.runs.collector import rare_collections
from meshwright.sim.runs.run import run
from meshwright.sim.runs.simulation import build_broker
from meshwright.sim.scenario.parameters import SimulationParameters

DESIGNS = ("chord", "gm2", "tree", "hypercube")
MIXES = {"QoS 0": (1.0, 0.0, 0.0), "mixed QoS": (0.2, 0.4, 0.4)}
REPEATS = 3
TARGET_PER_S = 100_000


def rows() -> list[Row]:
    with rare_collections():
        return [speed_row(design, mix) for mix in MIXES for design in DESIGNS]


def speed_row(design: str, mix: str) -> Row:
    """All messages that 30 brokers sent each other, against the CPU time of the whole run."""
    parameters = SimulationParameters(
        design=design,
        brokers=30,
        clients=60,
        duration_s=20,
        publications_per_s=60,
        topics=20,
        qos_weights=MIXES[mix],
        roams=False,
    )
    best_s = float("inf")
    for _ in range(REPEATS):
        start_s = time.process_time()
        done = run(parameters, 1, build_broker)
        best_s = min(best_s, time.process_time() - start_s)
    counts = done.world.counts_by_class()
    total = sum(counts.values())
    per_s = total / best_s
    return Row(
        f"{design}, {mix}: messages between brokers, per CPU second",
        f"{per_s:,.0f}/s",
        f">= {TARGET_PER_S:,}/s",
        met=per_s >= TARGET_PER_S,
        note=f"{total:,} messages ({counts['publication']:,} of publications), "
        f"{len(done.world.history.deliveries):,} deliveries in {best_s:.2f} s; best of {REPEATS}",
    )
