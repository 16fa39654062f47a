from __future__ import annotations

import os
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import TaskContext
from pyspark.sql import SparkSession
from waiting import until

from meshwright.errors import OperatorError, ProblemError
from meshwright.pipeline.sweep import (
    BUNDLE_MAX,
    Part,
    Task,
    TaskGrid,
    bundle_ends,
    results_table,
    spread_out,
    sweep,
    swept_parts,
)


def test_seeds_turn_first_then_the_last_parameter() -> None:
    grid = TaskGrid({"design": ["gm", "best"], "k": [1, 2]}, range(7, 9))
    assert [str(task) for task in grid] == [
        "design=gm, k=1, seed=7",
        "design=gm, k=1, seed=8",
        "design=gm, k=2, seed=7",
        "design=gm, k=2, seed=8",
        "design=best, k=1, seed=7",
        "design=best, k=1, seed=8",
        "design=best, k=2, seed=7",
        "design=best, k=2, seed=8",
    ]
    assert len(grid) == 8
    assert list(TaskGrid({}, [])) == []


@given(st.integers(1, 3000), st.integers(1, 64))
def test_bundles_hold_every_task_and_shrink(task_count: int, slot_count: int) -> None:
    ends = bundle_ends(task_count, slot_count)
    sizes = [end - start for start, end in pairwise([0, *ends])]
    assert ends[-1] == task_count
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    assert sizes[0] <= max(1, min(BUNDLE_MAX, task_count // slot_count))


@given(st.integers(1, 500))
def test_spreading_tasks_out_is_a_permutation(task_count: int) -> None:
    places = [spread_out(place, task_count) for place in range(task_count)]
    assert sorted(places) == list(range(task_count))


def test_results_come_in_the_order_of_the_grid_from_many_partitions(spark: SparkSession) -> None:
    def measured(brokers: int, seed: int) -> dict[str, Any]:
        context = TaskContext.get()
        assert context is not None
        return {"product": np.int64(brokers * seed), "partition": context.partitionId()}

    results = sweep(spark, measured, TaskGrid({"brokers": [3, 1]}, range(20)))
    assert [task for task, _ in results] == list(TaskGrid({"brokers": [3, 1]}, range(20)))
    assert all(
        value["product"] == task.parameters["brokers"] * task.seed for task, value in results
    )
    partitions = Counter(value["partition"] for _, value in results)
    assert len(partitions) == len(bundle_ends(40, 2))


def test_a_failing_task_names_its_parameters_and_seed(spark: SparkSession) -> None:
    def picky(brokers: int, seed: int) -> int:
        if brokers == 4 and seed > 1:
            raise ProblemError("Four brokers are too many.")
        return brokers

    with pytest.raises(OperatorError) as refusal:
        sweep(spark, picky, TaskGrid({"brokers": [2, 4]}, range(4)))
    assert str(refusal.value) == (
        "The task brokers=4, seed=2 failed: Four brokers are too many. (1 more of 8 failed)"
    )


def test_what_cannot_travel_is_a_failure_of_its_task(spark: SparkSession) -> None:
    with pytest.raises(OperatorError, match="seed=0 failed: TypeError: a RandomState cannot be"):
        sweep(spark, np.random.RandomState, TaskGrid({}, range(1)))


def test_no_tasks_have_no_results(spark: SparkSession) -> None:
    assert sweep(spark, dict, TaskGrid({"brokers": []}, range(3))) == []


def test_a_table_has_parameters_seed_and_results() -> None:
    one, other = Task({"k": 1}, 0), Task({"k": 2}, 0)
    table = results_table([(one, {"cost": 2.5}), (other, {"cost": 1, "note": "cheap"})])
    assert table.to_pylist() == [
        {"k": 1, "seed": 0, "cost": 2.5, "note": None},
        {"k": 2, "seed": 0, "cost": 1.0, "note": "cheap"},
    ]
    assert results_table([(one, [1, 2])]).to_pylist() == [{"k": 1, "seed": 0, "result": [1, 2]}]


def test_a_result_must_not_hide_a_parameter_nor_change_its_kind() -> None:
    with pytest.raises(OperatorError, match="returned a value called 'k', as a parameter is"):
        results_table([(Task({"k": 1}, 0), {"k": 2})])
    with pytest.raises(OperatorError, match="The results make no table"):
        results_table([(Task({}, 0), {"cost": 2}), (Task({}, 1), {"cost": "much"})])


def test_who_hears_of_a_part_that_failed_waits_for_no_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    long_one = tmp_path / "process"

    def measured(is_long: bool, seed: int) -> None:
        if is_long:
            long_one.write_text(str(os.getpid()))
            time.sleep(600.0)
        while not long_one.exists():
            time.sleep(0.01)
        raise ValueError(seed)

    grids = [TaskGrid({"is_long": [is_long]}, [0]) for is_long in (True, False)]
    parts = [Part(number, measured, grid) for number, grid in enumerate(grids)]
    with pytest.raises(OperatorError, match="ValueError"):
        list(swept_parts(spark, parts, lanes=2, slots=1))
    worker = Path("/proc", long_one.read_text())
    until(lambda: not worker.exists())
    until(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds())
