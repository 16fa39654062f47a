"""What a comparison of the past advises, beside an exhaustive replay of what came after.

A trace is drawn and replayed under every placement and design. The first half is what `compare`
sees, and recommends one of them by; then all of them go on, and the cheapest of the second half is
the winner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from meshwright.files.decoding import converted
from meshwright.lab.replays.replaying import PlainReplay, model_replay
from meshwright.model.designs import candidates
from meshwright.pipeline.generators.parameters import PatternName, PoissonParameters
from meshwright.pipeline.replays.parameters import (
    OverlayParameters,
    PlacementName,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.stages.metrics import compared_slots
from meshwright.planning.replay_judgement import (
    ReplayedCandidate,
    ReplayRecommendation,
    ReplayWish,
    judge_replay,
)

EPOCH_SLOTS = 5
PLACEMENTS: tuple[PlacementName, ...] = ("static", "similarity-bounded")


def measure_advice(
    *,
    seed: int,
    pattern: PatternName,
    users: int = 400,
    brokers: int = 12,
    topics: int = 40,
    modes: int = 4,
    hours: int = 20,
    publications_per_hour: float = 30.0,
    changes_per_hour: float = 0.1,
    slots_left_out: int = 0,
) -> dict[str, Any]:
    """Whether what was advised wins, and how much dearer it is than the winner if not.

    slots_left_out: by which nothing is advised, as all clients come in the first.
    """
    model = PoissonParameters(
        seed=seed, pattern=pattern, users=users, brokers=brokers, topics=topics, modes=modes,
        hours=hours, publications_per_hour=publications_per_hour,
        changes_per_hour=changes_per_hour,
    )  # fmt: skip
    wish = ReplayParameters(
        seed=seed,
        time=TimeParameters(slot_s=3600, epoch_slots=EPOCH_SLOTS),
        overlay=OverlayParameters(designs=candidates()),
        placement=PlacementParameters(methods=PLACEMENTS),
    )
    found = model_replay(model, wish)
    half = hours // 2 // EPOCH_SLOTS * EPOCH_SLOTS
    advised = _judged(found, range(slots_left_out, half), brokers)
    came = _judged(found, range(half, hours), brokers)
    prices = {one.name: one.price for one in came.verdicts if one.fits}
    chosen, best = (
        next((one.name for one in said.verdicts if one.is_best), "") for said in (advised, came)
    )
    lowest = prices.get(best, np.nan)
    return {
        "is_winner": float(chosen == best),
        "dearer": 100.0 * (prices.get(chosen, np.nan) / lowest - 1.0),
        "median_dearer": 100.0 * (float(np.median(list(prices.values()))) / lowest - 1.0),
        "chosen": chosen,
        "winner": best,
    }


def _judged(found: PlainReplay, slots: range, broker_count: int) -> ReplayRecommendation:
    """What a comparison says of some slots alone."""
    epochs = {slot // EPOCH_SLOTS for slot in slots}
    overlays = found.overlays[found.overlays.epoch.isin(epochs)]
    lines = []
    for pair, rows in found.metrics[found.metrics.slot.isin(slots)].groupby(
        ["placement", "design"], sort=False
    ):
        own = overlays[(overlays.placement == pair[0]) & (overlays.design == pair[1])]
        row = compared_slots(_table(rows), _table(own)).to_pylist()[0]
        lines.append(converted(row, ReplayedCandidate))
    return judge_replay(lines, ReplayWish(), broker_count=broker_count)


def _table(rows: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(rows, preserve_index=False)
