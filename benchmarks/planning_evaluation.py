"""One evaluation of each design at 1000 brokers and 1000 topics, 100 topics a broker."""

from __future__ import annotations

import numpy as np

from benchmarks.table import Row, timed
from meshwright.lab.workloads import Popularity, generate_snapshot
from meshwright.model.designs import DESIGNS
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate

SECONDS_TARGET = 5.0
POPULARITIES: tuple[Popularity, ...] = ("unif", "zipf")

JOINED = [name for name, row in DESIGNS.items() if row.base is None]


def rows() -> list[Row]:
    small = generate_snapshot(50, 50, 5, "unif", seed=0)
    seconds, _ = timed(lambda: [measured(design, small) for design in JOINED], repeat=1)
    found = [Row("evaluation kernels, first call of all designs", f"{seconds:.1f} s", "report")]
    for popularity in POPULARITIES:
        snapshot = generate_snapshot(1000, 1000, 100, popularity, seed=0)
        found.extend(_row(design, popularity, snapshot) for design in JOINED)
    return found


def measured(design: str, snapshot: Snapshot) -> tuple[float, float]:
    """Seconds of one evaluation, and the messages it found for a publication."""
    overlay = build_overlay(design, snapshot, rng=np.random.default_rng(0))
    seconds, found = timed(lambda: evaluate(overlay, snapshot), repeat=1)
    return seconds, found.messages_per_publication


def _row(design: str, popularity: Popularity, snapshot: Snapshot) -> Row:
    seconds, messages = measured(design, snapshot)
    return Row(
        task=f"evaluate {design}, 1000 x {len(snapshot.topics)} x 100 {popularity}",
        measured=f"{seconds:.2f} s",
        target=f"{SECONDS_TARGET:.0f} s",
        met=seconds <= SECONDS_TARGET,
        note=f"{messages:.1f} messages a publication",
    )
