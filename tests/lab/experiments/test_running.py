from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from meshwright.errors import OperatorError
from meshwright.lab.experiments.catalogue import all_experiments
from meshwright.lab.experiments.experiment import Experiment, Sweep
from meshwright.lab.experiments.results import ResultFolder
from meshwright.lab.experiments.running import Order, ordered, run, standing
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
            (size, law, seed) for seed in range(3) for size in (1, 2, 3) for law in ("unif", "zipf")
        )
        for row in measure(size=size, law=law, seed=seed)
    )


def test_a_run_that_was_stopped_goes_on_and_gives_the_rows_of_one_that_was_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    order, told = of(local()), []
    run(spark, [order], whole, asked_at="now", tell=lambda _, done: told.append(done))
    assert told == list(range(19))

    def stop(told_of: Order, done: int) -> None:
        assert told_of == order
        if done >= 6:
            raise KeyboardInterrupt

    fewer = replace(order, seeds=1)
    with pytest.raises(KeyboardInterrupt):
        run(spark, [order], stopped, asked_at="now", tell=stop)
    assert standing(order, stopped) == 6
    assert standing(order, stopped, again="all") == 0
    # Lanes run side by side: a task of the second seed may have ended before the last of the first.
    of_first = {number for number in ResultFolder(stopped / "try").done() if number < 6}
    assert standing(fewer, stopped) == len(of_first) >= len(fewer.tasks) - 1
    told.clear()
    run(spark, [order], stopped, asked_at="later", tell=lambda _, done: told.append(done))
    assert told == list(range(6, 19))
    for out in (whole, stopped):
        rows = ResultFolder(out / "try").rows()
        assert (rows.pop("task_cpu_s") >= 0).all()
        pd.testing.assert_frame_equal(rows, expected())


def test_seeds_come_one_after_the_other(spark: SparkSession, tmp_path: Path) -> None:
    order = of(local())
    seen: list[list[int]] = []

    def tell(_: Order, done: int) -> None:
        if done:
            seen.append(sorted(set(ResultFolder(tmp_path / "try").rows().seed)))

    run(spark, [order], tmp_path, asked_at="now", tell=tell)
    assert all(seeds == list(range(len(seeds))) for seeds in seen)
    assert seen[0] == [0]
    assert seen[-1] == [0, 1, 2]


def test_the_last_tasks_of_an_experiment_run_beside_the_first_of_the_next(
    spark: SparkSession, tmp_path: Path
) -> None:
    lanes = slot_count(spark)
    marks = tmp_path / "marks"
    marks.mkdir()

    def meet(*, number: int, seed: int) -> dict[str, Any]:
        """End when as many tasks as there are lanes have begun, of whichever experiment."""
        (marks / f"{number}-{seed}").touch()
        end_s = time.monotonic() + 60
        while len(list(marks.iterdir())) < lanes and time.monotonic() < end_s:
            time.sleep(0.01)
        return {"met": len(list(marks.iterdir())) >= lanes}

    def named(number: int) -> Order:
        sweep = Sweep(grid={"number": [number]}, seeds=1, task_cpu_s=60.0)
        return Order(
            Experiment(
                name=f"try{number}", paper="none", title="A trial", shows="nothing",
                measure=meet, scales={"small": sweep},
            ),
            "small",
            1,
        )  # fmt: skip

    orders = [named(number) for number in range(lanes)]
    run(spark, orders, tmp_path / "out", asked_at="now", tell=lambda *_: None)
    for number in range(lanes):
        assert ResultFolder(tmp_path / "out" / f"try{number}").rows().met.all()


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
        run(spark, [of(clashing)], tmp_path / "out", asked_at="now", tell=lambda *_: None)


def test_a_scale_that_an_experiment_has_not_is_refused_with_those_it_has() -> None:
    with pytest.raises(OperatorError, match="try has no scale 10x; it has small"):
        ordered([of(measure).experiment], "10x")
    assert ordered([of(measure).experiment], "small", 7)[0].seeds == 7
    assert of(measure).core_minutes() == 18.0


def test_any_parameter_may_be_swept_and_what_is_not_is_told() -> None:
    known = all_experiments()
    location, commute = known["dynatops-location"], known["mobility-commute"]
    [order] = ordered([location], "small", changes={"update_h": [1.0, 24.0]})
    assert order.grid["update_h"] == [1.0, 24.0]
    assert order.grid["cluster_size"] == [10]
    assert "update_h" not in order.fixed
    assert order.fixed["free_days"] == 7.0
    [order] = ordered([commute], "small", changes={"habit": [0.5], "subscribers": [5]})
    assert (order.grid["habit"], order.grid["subscribers"]) == ([0.5], [5])
    assert order.fixed["log_max"] == 1_000
    with pytest.raises(OperatorError, match=r"has no such parameter; did you mean 'update_h'\?"):
        ordered([location], "small", changes={"update_hours": [1]})
    with pytest.raises(OperatorError, match="no such parameter; it has"):
        ordered([commute], "small", changes={"zzz": [1]})


def test_values_that_no_file_has_as_they_are_stay_the_same_question(
    spark: SparkSession, tmp_path: Path
) -> None:
    def measure(*, size: int, seed: int, ks: tuple[int, ...] = (2, 4)) -> dict[str, Any]:
        return {"found": size + seed + sum(ks)}

    sweep = Sweep(grid={"size": (1, 2)}, seeds=1, task_cpu_s=60.0)
    order = Order(replace(of(measure).experiment, scales={"small": sweep}), "small", 1)
    run(spark, [order], tmp_path, asked_at="now", tell=lambda *_: None)
    assert standing(order, tmp_path) == 2
    assert standing(replace(order, seeds=2), tmp_path) == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"size": ["many"]}, "--grid size=many: expected `int`, got `str`; one of try is 1."),
        ({"size": [-5]}, "--grid size=-5: there is no less than none of it."),
        ({"law": [3]}, "--grid law=3: expected `str`, got `int`; one of try is unif."),
        ({"size": [20, 20]}, "--grid size: a value stands twice; name each once."),
    ],
)
def test_values_that_a_parameter_cannot_have_are_refused_at_once(
    changes: dict[str, list[Any]], reason: str
) -> None:
    with pytest.raises(OperatorError) as refused:
        ordered([of(measure).experiment], "small", changes=changes)
    assert str(refused.value) == reason


def test_calls_that_are_alike_in_what_decides_are_made_once_and_all_have_the_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    alike = replace(of(local()).experiment, deciding=lambda asked: {"law": asked["law"]})
    order = Order(alike, "small", 2)
    run(spark, [order], tmp_path, asked_at="now", tell=lambda _order, _done: None)
    rows = ResultFolder(tmp_path / "try").rows()
    assert rows["cost"].tolist() == [10 + seed + 4 for seed in (0, 1) for _ in range(12)]
    assert rows["size"].tolist() == [size for _ in (0, 1) for size in (1, 2, 3) for _ in range(4)]
    assert (rows[rows["size"] > 1]["task_cpu_s"] == 0).all()
    assert order.core_minutes() == 4.0
    assert order.core_minutes(6) == 2.0
