"""The paper's Poisson model replayed whole: every placement, every arrangement, 100 hours."""

from __future__ import annotations

from benchmarks.replays import HOURLY, measured, rate_row, warm_session
from benchmarks.table import Row
from meshwright.pipeline.generators.parameters import PoissonParameters

TARGET_S = 300.0


def rows() -> list[Row]:
    model = PoissonParameters(pattern="multimodal", publications_per_hour=1.0)
    with warm_session() as (session, folder):
        found = measured(session, folder, model, HOURLY, with_plain=True)
    return [
        rate_row(
            f"replay of the Poisson model: {model.users:,} users, {model.brokers} brokers, "
            f"{model.topics} topics, {model.hours:.0f} h; 3 placements, 5 arrangements",
            found.row_count,
            found.cost,
            target_s=TARGET_S,
            note=found.told(),
        )
    ]
