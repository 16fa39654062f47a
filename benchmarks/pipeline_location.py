"""The location model replayed whole: 40,000 users who wander between 1200 brokers."""

from __future__ import annotations

from benchmarks.replays import ARRANGEMENTS, measured, rate_row, warm_session
from benchmarks.table import Row
from meshwright.pipeline.generators.parameters import LocationParameters
from meshwright.pipeline.replays.parameters import (
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)

TARGET_S = 600.0
SIX_HOURS_S = 6 * 3600
PARAMETERS = ReplayParameters(
    time=TimeParameters(slot_s=SIX_HOURS_S, epoch_slots=28),
    placement=PlacementParameters(
        methods=("static", "location", "similarity", "similarity-bounded"), cluster_size=10
    ),
    overlay=OverlayParameters(designs=ARRANGEMENTS),
)


def rows() -> list[Row]:
    model = LocationParameters()
    with warm_session() as (session, folder):
        found = measured(session, folder, model, PARAMETERS, with_plain=True)
    return [
        rate_row(
            f"replay of the location model: {model.users:,} users, {model.rows * model.columns} "
            f"brokers, {model.days:.0f} d; 4 placements, 5 arrangements, T_update 6 h, T_free 7 d",
            found.row_count,
            found.cost,
            target_s=TARGET_S,
            note=found.told(),
        )
    ]
