"""The papers' question asked of traffic that really was: any trace, every placement and design.

Where a trace names no brokers, one stands in each of its most visited cells, or as many as are
asked for stand nowhere. A seed decides where clients ask first, and what planners draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from meshwright.lab.experiments.experiment import Claim, Experiment, Plot, Sweep
from meshwright.lab.replays.reading import Tables, cell_visits, read_trace, tables_on_disk
from meshwright.lab.replays.replaying import plain_replay
from meshwright.model.designs import candidates
from meshwright.pipeline.replays.parameters import (
    InterestParameters,
    OverlayParameters,
    PlacementName,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.tables.trace_brokers import place_names

BASELINE, OURS = ("static", "tapestry"), ("similarity-bounded", "dynatops")


def designs_on_trace(
    *,
    trace: str,
    placement: PlacementName,
    brokers: int,
    cell_degrees: float,
    epoch_slots: int,
    seed: int,
) -> list[dict[str, Any]]:
    """What a publication and its subscriptions cost under a placement, design by design."""
    tables = with_brokers(tables_on_disk(Path(trace)), brokers, cell_degrees)
    wish = ReplayParameters(
        seed=seed,
        time=TimeParameters(epoch_slots=epoch_slots),
        interests=InterestParameters(cell_degrees=cell_degrees),
        overlay=OverlayParameters(designs=candidates()),
        placement=PlacementParameters(methods=(placement,)),
    )
    found = plain_replay(read_trace(tables, wish), wish).comparison.drop(columns="placement")
    found["trace_name"] = Path(trace).name
    return [{str(name): value for name, value in row.items()} for row in found.to_dict("records")]


def with_brokers(tables: Tables, count: int, cell_degrees: float) -> Tables:
    """The tables with one of brokers, as `compare` makes them where a trace names none."""
    if "brokers" in tables:
        return tables
    if "positions" not in tables:
        width = len(str(count - 1))
        names = [f"b{number:0{width}d}" for number in range(count)]
        made = pd.DataFrame({"broker": names, "latitude": np.nan, "longitude": np.nan})
        return {**tables, "brokers": made}
    visits = cell_visits(tables, cell_degrees)
    cells = visits.groupby(["north", "east"], as_index=False).size()
    cells = cells.sort_values(["size", "north", "east"], ascending=[False, True, True])[:count]
    places = (cells[["north", "east"]].to_numpy(dtype=np.float64) + 0.5) * cell_degrees
    made = pd.DataFrame(places, columns=["latitude", "longitude"])
    made.insert(0, "broker", place_names(places))
    return {**tables, "brokers": made}


def of_design(rows: pd.DataFrame, chosen: tuple[str, str], column: str) -> float:
    """The mean of a column over traces, of one placement and design."""
    placement, design = chosen
    found = rows[(rows.placement == placement) & (rows.design == design)]
    return float(found[column].mean()) if len(found) else math.nan


def _less(column: str) -> Callable[[pd.DataFrame], float]:
    """How much less ours has than Bayeux with clients anywhere, as a share."""

    def value(rows: pd.DataFrame) -> float:
        return 1.0 - of_design(rows, OURS, column) / of_design(rows, BASELINE, column)

    return value


_GRID: dict[str, list[Any]] = {
    "placement": ["static", "similarity", "similarity-bounded"],
    "brokers": [50],
    "cell_degrees": [0.1],
    "epoch_slots": [10],
}
EXPERIMENTS = (
    Experiment(
        name="traffic-designs",
        paper="traffic",
        title="Every placement and design on traces of real traffic",
        shows="the DYNATOPS study on any trace, with --trace",
        measure=designs_on_trace,
        needs_trace=True,
        scales={
            "small": Sweep(grid=_GRID, seeds=3, task_cpu_s=60.0),
            "paper": Sweep(grid={**_GRID, "brokers": [100]}, seeds=10, task_cpu_s=200.0),
        },
        plots=tuple(
            Plot(
                name=name,
                title=title,
                x="design",
                y=column,
                x_label="design",
                y_label=label,
                series="placement",
                panel="trace_name",
            )
            for name, title, column, label in (
                ("messages", "Messages of a publication", "notification_overhead", "messages"),
                ("delay", "Delay of a delivery", "delay_hops", "hops"),
                ("changes", "Broker subscription changes", "subscription_changes", "changes"),
            )
        ),
        claims=tuple(
            Claim(
                says=f"{what} are less with DYNATOPS and our placement than on Bayeux",
                quoted="-",
                kind="ours",
                value=_less(column),
                least=0.0,
                unit="less, as a share",
            )
            for what, column in (
                ("Messages of a publication", "notification_overhead"),
                ("Hops of a delivery", "delay_hops"),
                ("Broker subscription changes", "subscription_changes"),
            )
        ),
    ),
)
