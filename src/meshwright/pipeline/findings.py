"""What a replay found, small enough to be looked at: its lines, its verdicts, its histories."""

from __future__ import annotations

import msgspec
from pyspark.sql import functions as sf

from meshwright.pipeline.replay import TraceReplay
from meshwright.planning.replay_judgement import (
    ReplayedCandidate,
    ReplayRecommendation,
    ReplayWish,
    judge_replay,
)


def compared(replay: TraceReplay) -> tuple[list[ReplayedCandidate], ReplayRecommendation]:
    """The lines of the comparison in the order that was asked for, and the verdicts on them."""
    rows = {
        (row.placement, row.design): msgspec.convert(row.asDict(), ReplayedCandidate)
        for row in replay.tables["comparison"].collect()
    }
    candidates = [rows[p, d] for p in replay.placements for d in replay.designs]
    overlay = replay.parameters.overlay
    wish = ReplayWish(k=overlay.k, delay_weight=overlay.delay_weight)
    return candidates, judge_replay(candidates, wish)


def histories(
    replay: TraceReplay, design: str, names: list[str]
) -> dict[str, dict[str, list[float]]]:
    """Some metrics of one design by placement and name, slot by slot."""
    rows = replay.tables["metrics"].where(sf.col("design") == design).orderBy("slot").collect()
    return {
        placement: {
            name: [float(row[name]) for row in rows if row.placement == placement] for name in names
        }
        for placement in replay.placements
    }
