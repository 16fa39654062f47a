from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from meshwright.errors import OperatorError
from meshwright.lab.experiments.experiment import Experiment, Sweep
from meshwright.lab.experiments.results import ResultFolder
from meshwright.lab.experiments.running import Order, ordered, run
from meshwright.lab.papers.traffic import with_brokers
from meshwright.pipeline.stages.visits import cells, visits
from meshwright.pipeline.sweep import slot_count
from meshwright.pipeline.tables.trace_brokers import made_brokers


def of(measure: Callable[..., Any]) -> Order:
    sweep = Sweep(grid={"size": [1, 2, 3], "law": ["unif", "zipf"]}, seeds=3, task_cpu_s=60.0)
    experiment = Experiment(
        name="try",
        paper="none",
        title="A trial",
        shows="nothing",
        measure=measure,
        scales={"small": sweep},
    )
    return Order(experiment, "small", sweep.seeds)


def measure(*, size: int, law: str, seed: int) -> list[dict[str, Any]]:
    return [{"design": name, "cost": size * 10 + seed + len(law)} for name in ("gm", "best")]


def local() -> Callable[..., Any]:
    """The same function, of a module that executors need not have."""

    def measure(*, size: int, law: str, seed: int) -> list[dict[str, Any]]:
        return [{"design": name, "cost": size * 10 + seed + len(law)} for name in ("gm", "best")]

    return measure


def expected() -> pd.DataFrame:
    return pd.DataFrame(
        {"task": number, "seed": seed, "size": size, "law": law, **row}
        for number, (size, law, seed) in enumerate(
            (size, law, seed) for size in (1, 2, 3) for law in ("unif", "zipf") for seed in range(3)
        )
        for row in measure(size=size, law=law, seed=seed)
    )


def test_a_run_that_was_stopped_goes_on_and_gives_the_rows_of_one_that_was_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    whole, stopped = ResultFolder(tmp_path / "whole"), ResultFolder(tmp_path / "stopped")
    order, told = of(local()), []
    run(spark, order, whole, asked_at="now", tell=told.append)
    assert told == list(range(0, 19, slot_count(spark)))

    def stop(done: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spark, order, stopped, asked_at="now", tell=stop)
    assert stopped.rows().seed.tolist() == [0] * 12
    told.clear()
    run(spark, order, stopped, asked_at="later", tell=told.append)
    assert told == list(range(6, 19, slot_count(spark)))
    for folder in (whole, stopped):
        rows = folder.rows()
        assert (rows.pop("task_cpu_s") >= 0).all()
        pd.testing.assert_frame_equal(rows, expected())


def test_a_trace_without_brokers_gets_those_that_it_gets_on_spark(spark: SparkSession) -> None:
    rng = np.random.default_rng(7)
    seen = pd.DataFrame(
        {
            "time": pd.to_datetime(rng.integers(0, 500, 400), unit="s", utc=True),
            "client": [f"u{number}" for number in rng.integers(0, 20, 400)],
            "latitude": rng.normal(40.0, 0.5, 400),
            "longitude": rng.normal(-74.0, 0.5, 400),
            "venue": "v",
        }
    )
    expected = made_brokers(9, visits(cells(spark.createDataFrame(seen), 0.25)), 0.25)
    made = with_brokers({"positions": seen}, 9, 0.25)["brokers"].sort_values("broker")
    assert tuple(made.broker) == expected.names
    np.testing.assert_allclose(made[["latitude", "longitude"]], expected.coordinates)
    named = with_brokers({"subscriptions": seen}, 11, 0.25)["brokers"]
    assert tuple(named.broker) == made_brokers(11, None, 0.25).names


def test_a_result_that_is_called_like_a_parameter_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def clashing(*, size: int, law: str, seed: int) -> dict[str, Any]:
        del law, seed
        return {"size": size}

    with pytest.raises(OperatorError, match="returned a value called 'size'"):
        run(
            spark, of(clashing), ResultFolder(tmp_path / "out"), asked_at="now",
            tell=lambda _: None,
        )  # fmt: skip


def test_a_scale_that_an_experiment_has_not_is_refused_with_those_it_has() -> None:
    with pytest.raises(OperatorError, match="try has no scale 10x; it has small"):
        ordered([of(measure).experiment], "10x")
    assert ordered([of(measure).experiment], "small", 7)[0].seeds == 7
    assert of(measure).core_minutes() == 18.0
