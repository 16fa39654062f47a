from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd
import pytest

from meshwright.lab.experiments.experiment import Experiment
from meshwright.lab.papers.dynatops_poisson import (
    EXPERIMENTS,
    FREE,
    MODE_CHANGES,
    PATTERNS,
    PLANNER,
    RATES,
    SERVERS,
    measure_systems,
)

TINY: dict[str, Any] = {"users": 60, "brokers": 6, "topics": 24, "modes": 3, "hours": 4.0}
TINY_FREE = {"free_hours": 2, "warmup_hours": 2}


def test_a_measurement_depends_on_its_arguments_alone() -> None:
    first, again, other = (measure_systems(seed=seed, **TINY, **TINY_FREE) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("experiment", "swept"),
    [
        (RATES, [{"changes_per_hour": rate, **TINY_FREE} for rate in (0.05, 2.0)]),
        (PATTERNS, [{"pattern": name} for name in ("uniform", "zipf", "multimodal")]),
        (FREE, [{"free_hours": hours, "systems": "dynatops,ours"} for hours in (1, 2)]),
        (MODE_CHANGES, [{"leaving_share": q, "systems": "chord,bs,ours"} for q in (0, 0.2, 1)]),
    ],
)
def test_every_claim_can_be_judged_by_the_rows_of_its_experiment(
    experiment: Experiment, swept: list[dict[str, Any]]
) -> None:
    rows = [
        {**point, **row}
        for point in swept
        for row in measure_systems(seed=0, **{**TINY, **TINY_FREE, **point})
    ]
    for claim in experiment.claims:
        assert isinstance(claim.value(pd.DataFrame(rows)), float), claim.says


def test_planner_and_servers_are_judged_too() -> None:
    planned = [
        {"size": "10x100", "pattern": pattern, **row}
        for pattern in ("unif", "multimodal")
        for row in PLANNER.measure(seed=0, size="10x100", pattern=pattern)
    ]
    times = [claim.value(pd.DataFrame(planned)) for claim in PLANNER.claims]
    assert not isnan(times[0])
    assert isnan(times[1])
    served = [
        {"servers": count, **dict(SERVERS.measure(seed=0, servers=count, brokers=12, topics=30))}
        for count in (1, 8)
    ]
    assert SERVERS.claims[0].value(pd.DataFrame(served)) == 100.0


def test_every_experiment_has_a_size_that_all_papers_together_can_afford() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)
    for experiment in EXPERIMENTS:
        sweep = experiment.scales["small"]
        task_count = sweep.seeds
        for values in sweep.grid.values():
            task_count *= len(values)
        assert task_count * sweep.task_cpu_s <= 60.0
